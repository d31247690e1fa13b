import { execFile } from 'node:child_process'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { memoryFlags } from '@plumbline/local/children'
import { atMost, bounded, median, type Figure } from './figure.ts'
import { writeWorkbook } from './workbook-file.ts'

const ROWS = 1_000_000
/** Measured alternately, since single measurements vary by a third. */
const ROUNDS = 3
const MOST_TIMES = 1.6
const MOST_MEGABYTES = 256

/**
 * Reads a workbook of a million rows and eight columns, compared with yauzl and saxes alone over the
 * same parts; medians of three, each in a process with the flags of a worker.
 */
export async function run(): Promise<readonly Figure[]> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'plumbline-workbook-'))
  const path = join(folder.path, 'list.xlsx')
  await writeWorkbook(path, ROWS)
  const bare: Reading[] = []
  const read: Reading[] = []
  for (let round = 0; round < ROUNDS; round++) {
    bare.push(await readIn('bare', path))
    read.push(await readIn('read', path))
  }
  for (const { rows } of [...bare, ...read]) {
    if (rows !== ROWS + 1) throw new Error(`${rows} rows of ${ROWS + 1}`)
  }
  const head = { name: 'workbook: reading', backend: '-' }
  return [
    atMost({ ...head, unit: 's' }, secondsOf(read), secondsOf(bare), MOST_TIMES),
    bounded(
      { ...head, name: 'workbook: reading, peak memory', unit: 'MB' },
      Math.max(...read.map(({ peakMegabytes }) => peakMegabytes)),
      MOST_MEGABYTES,
    ),
  ]
}

function secondsOf(readings: readonly Reading[]): number {
  return median(readings.map(({ tookMs }) => tookMs)) / 1000
}

interface Reading {
  readonly tookMs: number
  readonly rows: number
  readonly peakMegabytes: number
}

/** Reads a workbook in a child process: into rows, or only unpacked and parsed (`bare`). */
export async function readIn(mode: 'bare' | 'read', path: string): Promise<Reading> {
  const script = fileURLToPath(new URL('workbook-reader.ts', import.meta.url))
  const args = [...memoryFlags(160, 'batch'), script, mode, path]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return JSON.parse(stdout) as Reading
}
