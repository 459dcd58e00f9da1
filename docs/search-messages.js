/* Puts the bug with a pasted error message before the other results of the search.

The search counts words, and many messages differ in one word that others have more often: KeyError: 'default'. The
messages that fixes declare are in fixes/messages.json; "…" in them stands for any text. */

(() => {
  const box = document.querySelector(".md-search__input");
  const list = document.querySelector(".md-search-result__list");
  if (!box || !list) return;
  const base = new URL(JSON.parse(document.getElementById("__config").textContent).base + "/", location.href);
  const SHORT = 20; // characters of a message that says too little without the type of the error
  const MOST = 3;
  let known = null;

  const plain = (text) => text.toLowerCase().replace(/[\s"'`‘’“”]+/g, " ").trim();

  /* How many characters of a message a text has, with its pieces in order; 0 unless it has all of them. */
  function matching(text, pieces) {
    let end = 0;
    for (const piece of pieces) {
      const at = text.indexOf(piece, end);
      if (at < 0) return 0;
      end = at + piece.length;
    }
    return pieces.join("").length;
  }

  function read(message) {
    const [, type, rest] = message.match(/^([\w.]+)(?::\s*(.*))?$/s);
    const pieces = (text) => text.split("…").map(plain).filter(Boolean);
    const words = pieces(rest || "");
    const tells = words.join("").length >= SHORT;
    return tells ? words : words.length ? pieces(`${type}: ${rest}`) : null;
  }

  async function load() {
    known = [];
    const answer = await fetch(new URL("fixes/messages.json", base));
    known = (await answer.json()).map((bug) => ({ ...bug, pieces: bug.messages.map(read), bare: bug.messages }));
    place();
  }

  /* The bugs with the longest message that the text has. A message without words is the whole text. */
  function found(text) {
    const line = plain(text);
    const lengths = known.map((bug) =>
      Math.max(0, ...bug.pieces.map((pieces, n) =>
        pieces ? matching(line, pieces) : plain(bug.bare[n]).replace(/:$/, "") === line.replace(/:$/, "") ? line.length : 0)));
    const longest = Math.max(0, ...lengths);
    return longest ? known.filter((_, n) => lengths[n] === longest).slice(0, MOST) : [];
  }

  function item(bug) {
    const item = document.createElement("li");
    item.className = "md-search-result__item";
    item.dataset.message = bug.id;
    const link = item.appendChild(document.createElement("a"));
    link.className = "md-search-result__link";
    link.href = new URL(bug.page, base).href;
    const article = link.appendChild(document.createElement("article"));
    article.className = "md-search-result__article md-typeset";
    article.appendChild(document.createElement("h1")).textContent = bug.title;
    article.appendChild(document.createElement("p")).textContent = `A bug with this message: ${bug.id}`;
    return item;
  }

  function place() {
    if (!known) return;
    const bugs = box.value.trim() ? found(box.value) : [];
    const shown = [...list.querySelectorAll("[data-message]")];
    const first = [...list.children].slice(0, bugs.length);
    if (shown.length === bugs.length && bugs.every((bug, n) => first[n]?.dataset.message === bug.id)) return;
    shown.forEach((old) => old.remove());
    list.prepend(...bugs.map(item));
    const pages = new Set(bugs.map((bug) => new URL(bug.page, base).pathname));
    for (const other of list.querySelectorAll(":scope > li:not([data-message])")) {
      const link = other.querySelector("a");
      other.hidden = Boolean(link) && pages.has(new URL(link.href).pathname);
    }
  }

  box.addEventListener("focus", () => known || load());
  box.addEventListener("input", place);
  new MutationObserver(place).observe(list, { childList: true });
  if (document.activeElement === box) load();
})();
