import process from 'node:process'
import { StringDecoder } from 'node:string_decoder'
import { tmpdir } from 'node:os'
import { openBatchFile } from '@plumbline/intake/open-batch-file'
import { uploadLimits } from '@plumbline/intake/limits'
import { readRows } from '@plumbline/intake/read-rows'
import { SaxesParser } from 'saxes'
import { openPromise } from 'yauzl'

// node workbook-reader.ts bare|read PATH: reads a workbook in a process of its own and prints its
// processor time, the number of rows and its peak memory.

const [mode, path = ''] = process.argv.slice(2)
const began = process.cpuUsage()
const rows = mode === 'bare' ? await readBare(path) : await read(path)
const { user, system } = process.cpuUsage(began)
const tookMs = (user + system) / 1000
const peakMegabytes = process.resourceUsage().maxRSS / 1024
console.log(JSON.stringify({ tookMs, rows, peakMegabytes }))

/** The minimum work of reading a workbook: unpacking and parsing its two large parts. */
async function readBare(file: string): Promise<number> {
  const zip = await openPromise(file, { lazyEntries: true, autoClose: false })
  let count = 0
  for await (const entry of zip.eachEntry()) {
    if (!/sheet1\.xml$|sharedStrings\.xml$/.test(entry.fileName)) continue
    const parser = new SaxesParser({ position: false })
    const decoder = new StringDecoder('utf8')
    parser.on('opentag', ({ name }) => {
      if (name === 'row') count += 1
    })
    parser.on('text', () => {})
    for await (const chunk of await zip.openReadStreamPromise(entry)) {
      if (Buffer.isBuffer(chunk)) parser.write(decoder.write(chunk))
    }
    parser.close()
  }
  zip.close()
  return count
}

async function read(file: string): Promise<number> {
  const list = await openBatchFile({
    path: file,
    scratchDir: tmpdir(),
    fileName: file,
    product: 'email',
    limits: uploadLimits(),
  })
  const stream = readRows(list, new AbortController().signal)
  let count = list.header === null ? 0 : 1
  for await (const block of stream) count += block.length
  return count
}
