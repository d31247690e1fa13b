import { execFile, spawnSync } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import Papa from 'papaparse'
import { isCi } from './ci.ts'

/**
 * Whether LibreOffice is missing; the summary of the run names it, and with CI=true the tests fail.
 */
export const WITHOUT_SPREADSHEET = !isCi() && spawnSync('soffice', ['--version']).status !== 0

const OPEN_WITHIN_MS = 150_000

/** How a CSV file is opened: its delimiters, and whether quotes are respected. */
export interface OpenedAs {
  readonly delimiters: readonly string[]
  readonly quotes: boolean
}

/** LibreOffice with a user profile of its own. */
export interface Spreadsheet extends AsyncDisposable {
  /** The formulas that LibreOffice finds in each CSV text. */
  formulasOf(csvs: readonly string[], openedAs: OpenedAs): Promise<readonly (readonly string[])[]>
  /** The cells of a workbook's first sheet as LibreOffice shows them, its formulas and links. */
  cellsOf(workbook: Uint8Array): Promise<SheetCells>
}

/** A sheet as LibreOffice reads it. */
export interface SheetCells {
  readonly rows: readonly (readonly string[])[]
  readonly formulas: readonly string[]
  readonly links: readonly string[]
}

/** Makes a profile. Each call of a method starts LibreOffice, which takes seconds. */
export async function openSpreadsheet(): Promise<Spreadsheet> {
  const folder = await mkdtemp(join(tmpdir(), 'plumbline-spreadsheet-'))
  const run = promisify(execFile)
  const profile = `-env:UserInstallation=${pathToFileURL(join(folder, 'profile')).href}`
  return {
    async cellsOf(workbook) {
      const path = join(folder, 'sheet')
      await writeFile(`${path}.xlsx`, workbook)
      // Comma, quotes, UTF-8, from line 1, texts quoted, cells as shown. Source: LibreOffice help, as below.
      const csv = 'csv:Text - txt - csv (StarCalc):44,34,76,1,,0,true,true,false'
      for (const form of [csv, 'fods']) {
        const args = ['--headless', '--convert-to', form, '--outdir', folder, `${path}.xlsx`]
        await run('soffice', [profile, ...args], { timeout: OPEN_WITHIN_MS })
      }
      const sheet = await readFile(`${path}.fods`, 'utf8')
      const found = (pattern: RegExp) => [...sheet.matchAll(pattern)].map(([, text = '']) => text)
      return {
        rows: Papa.parse<string[]>(await readFile(`${path}.csv`, 'utf8'), {
          delimiter: ',',
          newline: '\n',
          skipEmptyLines: true,
        }).data,
        // LibreOffice stores a boolean cell of a workbook as a formula.
        formulas: found(/table:formula="(?!of:=(?:TRUE|FALSE)\(\)")([^"]*)"/g),
        links: found(/<text:a [^>]*xlink:href="([^"]*)"/g),
      }
    },
    async formulasOf(csvs, { delimiters, quotes }) {
      const paths = csvs.map((_, at) => join(folder, `opened${at}`))
      await Promise.all(csvs.map((csv, at) => writeFile(`${paths[at]}.csv`, csv)))
      const codes = delimiters.map((delimiter) => delimiter.charCodeAt(0)).join('/')
      await run(
        'soffice',
        [
          profile,
          '--headless',
          // UTF-8, from line 1. Source: LibreOffice help, "Filter Options for CSV".
          `--infilter=CSV:${codes},${quotes ? '34' : ''},76,1`,
          '--convert-to',
          'fods',
          '--outdir',
          folder,
          ...paths.map((path) => `${path}.csv`),
        ],
        { timeout: OPEN_WITHIN_MS },
      )
      const opened = paths.map((path) => readFile(`${path}.fods`, 'utf8'))
      return (await Promise.all(opened)).map((text) =>
        [...text.matchAll(/table:formula="([^"]*)"/g)].map(([, formula = '']) => formula),
      )
    },
    [Symbol.asyncDispose]: async () => await rm(folder, { recursive: true, force: true }),
  }
}
