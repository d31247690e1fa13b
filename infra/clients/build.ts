import { mkdir, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { ROOT } from '../run.ts'
import { buildJavaScriptClient } from './javascript-client.ts'
import { pythonModule } from './python-client.ts'

// npm run clients [-- FOLDER]: writes the packages that customers install, into `clients` by default.

const folder = resolve(process.argv[2] ?? join(ROOT, 'clients'))
const javascript = join(folder, 'javascript')
await mkdir(javascript, { recursive: true })
await buildJavaScriptClient(javascript)
const python = join(folder, 'python')
await mkdir(python, { recursive: true })
await writeFile(join(python, 'plumbline.py'), await pythonModule())
process.stdout.write(`${javascript}: npm pack it, or npm publish it\n`)
process.stdout.write(`${python}/plumbline.py: copy it beside the program that uses it\n`)
