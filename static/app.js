// What htmx does not do by itself: say what failed, and keep a button from being pressed twice. The pages work without.
"use strict";

const refused = () => document.getElementById("refused").dataset; // The words, in the language of the page.

const say = (id, words) => {
  const region = document.getElementById(id);
  region.textContent = words;
  clearTimeout(region.timer);
  region.timer = setTimeout(() => { region.textContent = ""; }, 12000);
};

document.addEventListener("htmx:responseError", (event) => {
  const answer = event.detail.xhr;
  const words = (answer.getResponseHeader("Content-Type") || "").startsWith("text/plain") ? answer.responseText : "";
  say("refused", words || refused().failed);
});

document.addEventListener("htmx:sendError", () => {
  say("refused", refused().unreached);
});

document.addEventListener("htmx:afterRequest", (event) => {
  const words = event.detail.xhr && event.detail.xhr.getResponseHeader("X-Said");
  if (words) say("said", decodeURIComponent(words));
});

// After a swap that brings an error, the focus goes to it, so that it is read out and seen.
document.addEventListener("htmx:afterSettle", (event) => {
  const wrong = event.target.querySelector && event.target.querySelector(".refusal, [aria-invalid='true']");
  if (wrong) wrong.focus();
});

// A form that leaves by an ordinary request is sent once.
document.addEventListener("submit", (event) => {
  if (event.target.closest("[hx-post]")) return;
  if (event.target.dataset.sent) { event.preventDefault(); return; }
  event.target.dataset.sent = "yes";
});
window.addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
});
