//! Containers: from an image to a supervised process tree, with no daemon and no external tool.
//!
//! Nothing is served from here yet. What moves in, in reading order:
//!
//! - images: OCI layouts, docker-archive tars and registries, unpacked into content-addressed layers;
//! - root file systems: overlayfs over those layers, with a writable layer of bounded size;
//! - containers: namespaces, cgroups, seccomp and capabilities around one command, and what freezes and thaws it;
//! - the supervisor: one small process for each container, which outlives a restart of the appliance;
//! - the runner: the privileged side of a narrow socket, so that the appliance itself runs without privileges.
//!
//! Floor 0: it knows neither storage, nor HTTP, nor any room, and takes time and outbound connections through
//! narrow traits.
