import { parseSync, Visitor } from 'oxc-parser'
import { describe, expect, test } from 'vitest'
import { isTestCode } from './boundaries.ts'
import { readSource, sourceFiles } from './import-graph.ts'

/** Files outside metering that may name a credit table, and why. */
const ALLOWED: Readonly<Record<string, string>> = {
  'packages/db/src/serving-role.ts': 'checks rights on the ledger, and reads no row of it',
}

/** Names of credit tables and functions in the strings of a source; comments and types do not count. */
function creditNamesIn(file: string, text: string): readonly string[] {
  const { program, errors } = parseSync(file, text)
  if (errors.length > 0) throw new Error(`${file} does not parse: ${errors[0]?.message}`)
  const strings: string[] = []
  new Visitor({
    Literal: ({ value }) => {
      if (typeof value === 'string') strings.push(value)
    },
    TemplateElement: ({ value }) => {
      strings.push(value.raw)
    },
  }).visit(program)
  return strings.flatMap((each) => each.match(/\bcredit_\w+/gi) ?? [])
}

/** Sources of packages and services, without tests and the test kit. */
const SOURCES = sourceFiles().filter(
  (file) => /^(?:packages|services)\/[^/]+\/src\//.test(file) && !isTestCode(file),
)

describe('only metering reads credit tables', () => {
  test('no statement of another package or program names one', () => {
    expect(SOURCES).toContain('packages/db/src/idempotency.ts')
    const faults = SOURCES.filter(
      (file) => !file.startsWith('packages/metering/') && ALLOWED[file] === undefined,
    ).flatMap((file) => creditNamesIn(file, readSource(file)).map((name) => `${file}: ${name}`))
    expect(faults).toEqual([])
  })

  test('the search finds the names in metering and in each allowed file', () => {
    const found = (file: string): readonly string[] => creditNamesIn(file, readSource(file))
    expect(found('packages/metering/src/debit.ts').join(' ')).toMatch(
      /credit_debit_one.*credit_debit/,
    )
    for (const file of Object.keys(ALLOWED)) expect(found(file)).toContain('credit_entries')
  })

  test.each([
    ['a query', 'await db.pool.query(`select 1 from credit_entries where id = ${id}`)'],
    ['one after an interpolation', 'const text = `select ${column} from credit_holds`'],
    ['a function', "const CLAIM = 'select credit_is_refunded($1, $2)'"],
    ['a name of the query builder', "tx.selectFrom('credit_accounts').selectAll()"],
    ['one in capitals', "run('SELECT * FROM Credit_Usage')"],
  ])('the search finds %s', (_, text) => {
    expect(creditNamesIn('packages/db/src/planted.ts', text)).toHaveLength(1)
  })

  test.each([
    ['a comment', '// credit_entries is append-only\nexport const a = 1'],
    ['the type of a table', 'export interface Tables { credit_entries: number }'],
    ['another word', "const word = 'low_credit_mark'"],
  ])('the search ignores %s', (_, text) => {
    expect(creditNamesIn('packages/db/src/planted.ts', text)).toEqual([])
  })
})
