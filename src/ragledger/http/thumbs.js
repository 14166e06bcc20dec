/* Thumbs for a hit: two buttons that send a vote to Ragledger. No dependency, no cookie, no text of the hit.
 *
 *   <span data-ragledger-search="0193..." data-ragledger-rank="1"></span>
 *   <script src="/ragledger/thumbs.js" data-url="/ragledger" data-token="..." data-actor="human:ana" defer></script>
 *
 * A token in a page is readable by whoever opens the page: give it the scope `vote` and nothing else.
 * Elements that are added later: ragledger.thumbs(element, {url, token, actor}).
 */
(function () {
  "use strict";
  var script = document.currentScript;
  var said = script ? script.dataset : {};
  var OUTCOMES = { up: "relevant", down: "not_relevant" };

  function thumbs(element, options) {
    if (element.dataset.ragledgerState) return;
    var settings = Object.assign({ url: said.url || "", token: said.token, actor: said.actor }, options);
    element.dataset.ragledgerState = "ready";
    element.setAttribute("role", "group");
    element.setAttribute("aria-label", settings.label || "Was this useful?");
    var buttons = {
      up: button("\u{1F44D}", settings.up || "Useful"),
      down: button("\u{1F44E}", settings.down || "Not useful"),
    };
    Object.keys(buttons).forEach(function (name) {
      buttons[name].addEventListener("click", function () {
        send(element, buttons, name, settings);
      });
      element.appendChild(buttons[name]);
    });
  }

  function button(sign, label) {
    var made = document.createElement("button");
    made.type = "button";
    made.textContent = sign;
    made.title = label;
    made.setAttribute("aria-label", label);
    made.setAttribute("aria-pressed", "false");
    return made;
  }

  function send(element, buttons, name, settings) {
    var vote = { search_id: element.dataset.ragledgerSearch, outcome: OUTCOMES[name] };
    if (element.dataset.ragledgerChunk) vote.chunk_id = element.dataset.ragledgerChunk;
    else vote.rank = Number(element.dataset.ragledgerRank);
    if (settings.actor) vote.actor = settings.actor;
    var headers = { "Content-Type": "application/json" };
    if (settings.token) headers.Authorization = "Bearer " + settings.token;
    element.dataset.ragledgerState = "sending";
    return fetch(settings.url + "/v1/feedback", {
      method: "POST",
      headers: headers,
      body: JSON.stringify(vote),
      credentials: "same-origin",
      keepalive: true,
    })
      .then(function (response) {
        if (!response.ok) throw new Error(String(response.status));
        Object.keys(buttons).forEach(function (other) {
          buttons[other].setAttribute("aria-pressed", String(other === name));
        });
        element.dataset.ragledgerState = "done";
      })
      .catch(function () {
        element.dataset.ragledgerState = "failed";
      });
  }

  window.ragledger = { thumbs: thumbs };
  function all() {
    document.querySelectorAll("[data-ragledger-search]").forEach(function (element) {
      thumbs(element);
    });
  }
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", all);
  else all();
})();
