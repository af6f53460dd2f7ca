// A link carries its token behind the `#`, which browsers tell nobody. This takes it from there into the form, out of the
// address and so out of the history, and sends the form. Without scripts it is pasted.
"use strict";

function take() {
    const token = window.location.hash.slice(1);
    if (!token) return;
    window.history.replaceState(null, "", window.location.pathname + window.location.search);
    document.getElementById("link").value = token;
    document.getElementById("sign-in").requestSubmit();
}

take();
// A second link, pasted into the address of a page that is open, loads nothing anew.
window.addEventListener("hashchange", take);
