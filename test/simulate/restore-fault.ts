import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { RESTORED_FAULTS } from './restored-faults.ts'

// Imported before the program, with the name of a fault as the query of its URL: restores that fault
// in the sources as they are loaded.

const ROOT = join(fileURLToPath(import.meta.url), '..', '..', '..')
const name = new URL(import.meta.url).search.slice(1)
const fault = RESTORED_FAULTS.find((one) => one.name === name)
if (fault === undefined) throw new Error(`no fault is called ${name}`)
const edits = fault.edits.map((edit) => ({
  ...edit,
  url: pathToFileURL(join(ROOT, edit.file)).href,
}))

registerHooks({
  load: (url, context, nextLoad) => {
    const loaded = nextLoad(url, context)
    const own = edits.filter((edit) => edit.url === url)
    if (own.length === 0) return loaded
    const source = own.reduce(
      (text, { from, to }) => text.replaceAll(from, to),
      Buffer.from(loaded.source as Uint8Array).toString(),
    )
    return { ...loaded, source }
  },
})
