/** Text that is HTML already; everything else is escaped on its way into a page. */
export interface Html {
  readonly html: string
}

/** What may stand in a template. */
export type Shown = Html | string | number | null | undefined | readonly Shown[]

/** A template of HTML: whatever is put into it is text, unless it is HTML of this function. */
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

/** A page of the operator's. */
export function page(title: string, body: Html): string {
  const { html: text } = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} - operator</title>
        <link rel="stylesheet" href="/operator/style.css" />
      </head>
      <body>
        <nav>
          <a href="/operator">Accounts</a> <a href="/operator/plans">Plans</a>
          <a href="/operator/queues">Queues</a> <a href="/operator/workers">Workers</a>
          <a href="/operator/audit">Audit trail</a>
        </nav>
        <main>
          <h1>${title}</h1>
          ${body}
        </main>
      </body>
    </html> `
  return text
}

/** A table under headings. */
export function table(headings: readonly string[], rows: readonly (readonly Shown[])[]): Html {
  if (rows.length === 0) return html`<p>There is nothing to show.</p>`
  const name = `Table of ${headings.join(', ')}`
  // What scrolls by itself must be reached by keyboard.
  return html`<div class="wide" role="region" aria-label="${name}" tabindex="0">
    <table>
      <thead>
        <tr>
          ${headings.map((heading) => html`<th scope="col">${heading}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (cells) =>
            html`<tr>
              ${cells.map((cell) => html`<td>${cell}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`
}

/** A moment as operators compare it with their logs: `2026-11-23 05:20:50 UTC`. */
export function moment(at: Date): Html {
  return html`<time>${at.toISOString().slice(0, 19).replace('T', ' ')} UTC</time>`
}

/** Looks of the pages; they follow the light or dark of the system. */
export const STYLE = `:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0; }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1rem; padding: .75rem 1.5rem; border-bottom: 1px solid light-dark(#ccc, #444); }
main { padding: 1rem 1.5rem; max-width: 72rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
a { color: light-dark(#0b57d0, #8ab4f8); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: start; padding: .35rem .75rem .35rem 0; border-bottom: 1px solid light-dark(#ddd, #3a3a3a); vertical-align: top; max-width: 22rem; overflow-wrap: break-word; }
th, time { white-space: nowrap; }
p, h1 { overflow-wrap: anywhere; }
form { display: flex; flex-wrap: wrap; gap: .5rem; align-items: end; margin: .5rem 0; }
label { display: flex; flex-direction: column; font-size: .85rem; }
form.tall { flex-direction: column; align-items: start; }
input, select, button { font: inherit; padding: .3rem .5rem; }
.said { padding: .5rem .75rem; border-inline-start: 4px solid light-dark(#0b57d0, #8ab4f8); }
`
