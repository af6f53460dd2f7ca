//! Images that are what they say, and images that are not.
