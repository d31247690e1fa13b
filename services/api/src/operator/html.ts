/** Text that is HTML already; everything else is escaped in a page. */
export interface Html {
  readonly html: string
}

/** Values of a template. */
export type Shown = Html | string | number | null | undefined | readonly Shown[]

/** A template of HTML: values are escaped, unless they are HTML of this function. */
export function html(parts: TemplateStringsArray, ...values: readonly Shown[]): Html {
  const text = parts.map((part, at) => `${part}${shown(values[at])}`).join('')
  return { html: text }
}

function shown(value: Shown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'string') return escaped(value)
  if (typeof value === 'number') return String(value)
  if (isHtml(value)) return value.html
  return value.map(shown).join('')
}

function isHtml(value: Html | readonly Shown[]): value is Html {
  return !Array.isArray(value)
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escaped(text: string): string {
  return text.replaceAll(/[&<>"']/g, (sign) => ENTITIES[sign] ?? '')
}

const PLACES = [
  ['/operator', 'Accounts'],
  ['/operator/plans', 'Plans'],
  ['/operator/queues', 'Queues'],
  ['/operator/workers', 'Workers'],
  ['/operator/audit', 'Audit trail'],
] as const
/** Entry of the menu. */
export type Place = (typeof PLACES)[number][0]

/** A page of the operator; `place` is its entry in the menu. */
export function page(title: string, body: Html, place?: Place): string {
  const { html: text } = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} - operator</title>
        <link rel="stylesheet" href="/operator/style.css" />
      </head>
      <body>
        <nav aria-label="Main">
          ${PLACES.map(([path, text]) =>
            path === place
              ? html`<a href="${path}" aria-current="page">${text}</a>`
              : html`<a href="${path}">${text}</a>`,
          )}
        </nav>
        <main>
          <h1>${title}</h1>
          ${body}
        </main>
      </body>
    </html> `
  return text
}

/** Number of columns above which a narrow screen shows a row as a list of its cells. */
const STACKED_FROM = 3

/** A table under headings. */
export function table(headings: readonly string[], rows: readonly (readonly Shown[])[]): Html {
  if (rows.length === 0) return html`<p>There is nothing to show.</p>`
  const name = `Table of ${headings.join(', ')}`
  // What scrolls by itself must be reached by keyboard; a narrow screen lays rows out as lists,
  // which takes the elements their roles.
  const form = headings.length > STACKED_FROM ? 'wide stacked' : 'wide'
  return html`<div class="${form}" role="region" aria-label="${name}" tabindex="0">
    <table role="table">
      <thead role="rowgroup">
        <tr role="row">
          ${headings.map((heading) => html`<th scope="col" role="columnheader">${heading}</th>`)}
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${rows.map(
          (cells) =>
            html`<tr role="row">
              ${cells.map(
                (cell, at) =>
                  html`<td role="cell" data-title="${headings[at] ?? ''}"><div>${cell}</div></td>`,
              )}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`
}

/** A time in the format of the logs: `2026-11-23 05:20:50 UTC`. */
export function moment(at: Date): Html {
  return html`<time>${at.toISOString().slice(0, 19).replace('T', ' ')} UTC</time>`
}

/** Styles of the pages; they follow the system's light or dark mode, in the colours of the app. */
export const STYLE = `:root {
  color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif;
  --ground: light-dark(#f6f7f9, #0e1116); --surface: light-dark(#fff, #161a21);
  --line: light-dark(#dfe3e9, #2a313c); --edge: light-dark(#868f9c, #6b7686);
  --text: light-dark(#14181f, #e8ebf0); --muted: light-dark(#545d6b, #a3adbb);
  --accent: light-dark(#1d4ed8, #8ab0ff); --soft: light-dark(#e8eefd, #1b2845);
}
body { margin: 0; background: var(--ground); color: var(--text); }
nav { display: flex; flex-wrap: wrap; gap: .25rem; padding: .5rem 1rem; background: var(--surface); border-bottom: 1px solid var(--line); }
nav a { padding: .25rem .6rem; border-radius: 6px; color: var(--text); text-decoration: none; }
nav a:hover { text-decoration: underline; }
nav a[aria-current] { background: var(--soft); color: var(--accent); font-weight: 600; }
main { margin: 0 auto; padding: 1rem 1.5rem 3rem; max-width: 72rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
a { color: var(--accent); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.wide { overflow-x: auto; padding: 0 .9rem; background: var(--surface); border: 1px solid var(--line); border-radius: 8px; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: start; padding: .45rem 1rem .45rem 0; border-bottom: 1px solid var(--line); vertical-align: top; max-width: 22rem; overflow-wrap: break-word; }
th { color: var(--muted); font-weight: 550; }
tr:last-child td { border-bottom: 0; }
td { min-width: 3rem; font-variant-numeric: tabular-nums; }
th { vertical-align: bottom; } time { white-space: nowrap; }
td form { margin: 0; }
p, h1 { overflow-wrap: anywhere; }
form { display: flex; flex-wrap: wrap; gap: .5rem .75rem; align-items: end; margin: 0 0 1rem; }
label { display: flex; flex-direction: column; gap: .15rem; font-size: .85rem; max-width: 100%; }
form.tall { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 16rem), 1fr)); }
form.tall button { justify-self: start; }
input, select, button { box-sizing: border-box; min-height: 2.25rem; max-width: 100%; font: inherit; padding: .25rem .6rem; border: 1px solid var(--edge); border-radius: 6px; background: var(--surface); color: inherit; }
button { cursor: pointer; font-weight: 550; }
@media (width < 640px) {
  .stacked :is(table, tbody, tr) { display: block; }
  .stacked thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .stacked tr { padding: .5rem 0; border-bottom: 1px solid var(--line); }
  .stacked tr:last-child { border-bottom: 0; }
  .stacked td { display: grid; grid-template-columns: 6.5rem minmax(0, 1fr); gap: .75rem; max-width: none; padding: .15rem 0; border: 0; }
  .stacked td::before { color: var(--muted); content: attr(data-title); }
  .stacked td > div { min-width: 0; overflow-wrap: anywhere; }
  .stacked td:has(> div:empty) { display: none; }
}
.said { padding: .5rem .75rem; border-inline-start: 4px solid var(--accent); background: var(--surface); }
`
