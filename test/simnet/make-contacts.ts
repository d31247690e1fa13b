import { mkdir, writeFile } from 'node:fs/promises'
import { makeContacts } from './contacts.ts'

const TARGET = new URL('../demo/contacts.csv', import.meta.url)
const COUNT = 2000

/** Writes the CSV file of the demo: 2,000 contacts of the world of seed 1. */
async function main(): Promise<void> {
  const { header, rows } = makeContacts({ seed: 1, count: COUNT })
  const text = [header, ...rows].map((cells) => `${cells.map(quote).join(',')}\r\n`).join('')
  await mkdir(new URL('.', TARGET), { recursive: true })
  await writeFile(TARGET, text)
}

/** A cell of a CSV file. Source: RFC 4180 section 2. */
function quote(cell: string): string {
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}

await main()
