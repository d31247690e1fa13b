const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }

/**
 * HTML of the subset of Markdown that the reference uses: headings of level 3, tables, code in
 * backticks, and paragraphs. Everything else is text.
 */
export function htmlOf(markdown: string): string {
  return markdown.split('\n\n').map(blockOf).join('\n')
}

function blockOf(block: string): string {
  const heading = /^### (.+)$/m.exec(block)?.[1]
  if (block.startsWith('### ') && heading !== undefined) {
    const rest = block.slice(block.indexOf('\n') + 1)
    return `<h3>${inlineOf(heading)}</h3>${rest.startsWith('#') ? '' : blockOf(rest.trim())}`
  }
  return block.startsWith('| ') ? tableOf(block) : `<p>${inlineOf(block)}</p>`
}

function tableOf(block: string): string {
  const [head = '', , ...rows] = block.split('\n')
  const cells = (line: string, tag: 'th' | 'td'): string =>
    line
      .slice(1, -1)
      .split(' | ')
      .map((cell) => `<${tag}>${inlineOf(cell.trim())}</${tag}>`)
      .join('')
  const body = rows.map((row) => `<tr>${cells(row, 'td')}</tr>`).join('\n')
  return `<div class="wide"><table><thead><tr>${cells(head, 'th')}</tr></thead><tbody>${body}</tbody></table></div>`
}

function inlineOf(text: string): string {
  const safe = text.replaceAll(/[&<>]/g, (sign) => ENTITIES[sign] ?? '')
  return safe.replaceAll(/`([^`]+)`/g, '<code>$1</code>')
}
