import iconv from 'iconv-lite'
import { describe, expect, test } from 'vitest'
import { readBytes } from './batch-file-fixture.ts'
import type { BatchFileOptions } from './file-layout.ts'
import type { FileRow } from './row-builder.ts'

const KNOWN = {
  known: 30,
  knownAt: '2026-11-01',
  receivedAt: new Date('2026-11-22T12:00:00Z'),
} as const

async function rowsOf(
  lines: readonly string[],
  options: Partial<BatchFileOptions> = {},
): Promise<readonly FileRow[]> {
  const { rows } = await readBytes(`${lines.join('\n')}\n`, { ...KNOWN, ...options })
  return rows
}

/** For each row the vendor's word if it is a known row, else its kind. */
async function wordsOf(
  lines: readonly string[],
  options: Partial<BatchFileOptions> = {},
): Promise<readonly string[]> {
  const rows = await rowsOf(lines, options)
  return rows.map(({ kind, claim }) => claim?.word ?? kind)
}

describe('verdicts of another service', () => {
  test.each([
    [
      'zerobounce',
      '"Email Address","First Name","ZB Status","ZB Sub Status","ZB Account","ZB Domain"',
      [
        ['"a@x.example","","valid","","a","x.example"', 'valid'],
        ['"b@x.example","","invalid","mailbox_not_found","",""', 'invalid'],
        ['"c@x.example","","valid","role_based_accept_all","",""', 'billable'],
        ['"d@x.example","","do_not_mail","disposable","",""', 'billable'],
        ['"e@x.example","","catch-all","","",""', 'billable'],
        ['"f@x.example","","invalid","mailbox_quota_exceeded","",""', 'billable'],
        ['"g@x.example","","unknown","greylisted","",""', 'billable'],
        ['"h@x.example","","spamtrap","","",""', 'billable'],
        ['"i@x.example","","","","",""', 'billable'],
      ],
    ],
    [
      'zerobounce',
      'address,status,sub_status,free_email',
      [
        ['a@x.example,valid,,False', 'valid'],
        ['b@x.example,abuse,,True', 'billable'],
      ],
    ],
    [
      'neverbounce',
      'id,email,name,email_status',
      [
        ['1,a@x.example,Ann,valid', 'valid'],
        ['2,b@x.example,Bo,invalid', 'invalid'],
        ['3,c@x.example,Cy,catchall', 'billable'],
        ['4,d@x.example,Di,disposable', 'billable'],
        ['5,e@x.example,Ed,unknown', 'billable'],
      ],
    ],
    [
      'kickbox',
      'Email,Result,Reason,Role,Free,Disposable,Accept All,Did You Mean,Sendex',
      [
        ['a@x.example,deliverable,accepted_email,false,false,false,false,,1', 'deliverable'],
        ['b@x.example,undeliverable,rejected_email,false,false,false,false,,0', 'undeliverable'],
        ['c@x.example,deliverable,accepted_email,false,false,false,true,,0.8', 'billable'],
        ['d@x.example,risky,low_quality,true,false,false,false,,0.4', 'billable'],
        ['e@x.example,unknown,timeout,false,false,false,false,,0', 'billable'],
      ],
    ],
    [
      'emailable',
      'Email,State,Reason,Score,Tag',
      [
        ['a@x.example,deliverable,accepted_email,100,', 'deliverable'],
        ['b@x.example,undeliverable,invalid_domain,0,', 'undeliverable'],
        ['c@x.example,risky,low_deliverability,65,', 'billable'],
      ],
    ],
    [
      'emailable',
      'First Name,State,Email,Emailable State,Emailable Reason,Emailable Score',
      [
        ['Ann,Texas,a@x.example,Deliverable,accepted_email,98', 'deliverable'],
        ['Bo,Ohio,b@x.example,Unknown,timeout,0', 'billable'],
      ],
    ],
    [
      'bouncer',
      'email,status,reason,domain.name,domain.acceptAll,account.role,toxicity',
      [
        ['a@x.example,deliverable,accepted_email,x.example,no,no,0', 'deliverable'],
        ['b@x.example,undeliverable,rejected_email,x.example,no,no,0', 'undeliverable'],
        ['c@x.example,deliverable,accepted_email,x.example,yes,no,0', 'billable'],
        ['d@x.example,risky,low_deliverability,x.example,unknown,no,2', 'billable'],
      ],
    ],
  ] as const)('of %s settle a row if they are definite', async (vendor, header, cases) => {
    const lines = [header, ...cases.map(([line]) => line)]
    const { file, rows, summary } = await readBytes(`${lines.join('\n')}\n`, KNOWN)
    expect(file.claims?.vendor).toBe(vendor)
    expect(rows.map(({ kind, claim }) => claim?.word ?? kind)).toEqual(cases.map(([, as]) => as))
    const { known, billable, total } = summary.counts
    expect([known + billable, total]).toEqual([cases.length, cases.length])
  })

  test('are read from NDJSON, and from an export in a Windows encoding', async () => {
    const json = [
      { email: 'a@x.example', result: 'deliverable', reason: 'accepted_email', sendex: 1 },
      { email: 'b@x.example', result: 'deliverable', accept_all: true, sendex: 1 },
      { email: 'c@x.example', result: { hostile: 'deliverable' }, sendex: null },
    ].map((row) => JSON.stringify(row))
    // A value that the service does not use shows that the plain name is not that of its column.
    expect(await wordsOf(json.slice(0, 2), { fileName: 'k.ndjson' })).toEqual([
      'deliverable',
      'billable',
    ])
    const polish = [
      'Imię;E-mail;ZB Status;ZB Processed At',
      'Łukasz Żółć;a@x.example;valid;01.11.2026',
      'Świętosława Gęś;b@x.example;invalid;31.10.2026',
    ]
    const bytes = iconv.encode(polish.join('\r\n'), 'windows-1250')
    const { rows } = await readBytes(bytes, { known: 30, receivedAt: KNOWN.receivedAt })
    expect(rows.map(({ claim }) => claim)).toEqual([
      { verdict: 'deliverable', word: 'valid', at: '2026-11-01' },
      { verdict: 'undeliverable', word: 'invalid', at: '2026-10-31' },
    ])
  })

  test('that are no word of the service do not settle a row', async () => {
    const hostile = [
      'VALID ', // theirs, in another writing
      '=HYPERLINK("http://x")',
      'valid<script>alert(1)</script>',
      '__proto__',
      'constructor',
      'valid\u202edilav',
      'v'.repeat(8_000),
      'صالح',
    ]
    const lines = hostile.map((word, no) => `p${no}@x.example,"${word.replaceAll('"', '""')}"`)
    const words = await wordsOf(['email,ZB Status', ...lines])
    expect(words).toEqual(['valid', ...Array<string>(7).fill('billable')])
  })

  test('do not settle a record with other subjects than its address', async () => {
    const lines = ['email,phone,ZB Status', 'a@x.example,+14155550100,valid', 'b@x.example,,valid']
    expect(await wordsOf(lines, { product: 'deliverability' })).toEqual(['billable', 'valid'])
  })

  test('settle later duplicates of an address, but not an earlier row that is checked', async () => {
    const rows = await rowsOf([
      'email,ZB Status',
      'a@x.example,valid',
      'a@X.example,',
      'b@x.example,unknown',
      'b@x.example,valid',
      'a@x.example,invalid',
    ])
    expect(rows.map(({ kind, ofRow }) => [kind, ofRow])).toEqual([
      ['known', undefined],
      ['known', 0],
      ['billable', undefined],
      ['duplicate', 2],
      ['known', 0],
    ])
  })

  test('are read only if the batch accepts them', async () => {
    const lines = ['email,ZB Status', 'a@x.example,valid']
    expect(await wordsOf(lines, { known: undefined })).toEqual(['billable'])
  })
})

describe('a file without acceptable verdicts', () => {
  test.each([
    [['email,name', 'a@x.example,Ann'], {}, 'no column of theirs'],
    [['email,state,reason,score', 'a@x.example,Texas,none,3'], {}, 'no column of theirs'],
    [['email,status', 'a@x.example,valid'], {}, 'no column of theirs'],
    [['email,ZB Status', 'a@x.example,valid'], { knownAt: undefined }, 'send the day as known_at'],
  ])('is refused with what to do: %j', async (lines, options, message) => {
    await expect(rowsOf(lines, options)).rejects.toThrow(message)
  })
})

describe('the day of a verdict', () => {
  const at = async (...days: readonly string[]): Promise<readonly string[]> => {
    const lines = days.map((day, no) => `p${no}@x.example,valid,"${day}"`)
    const rows = await rowsOf(['email,ZB Status,Verified On', ...lines])
    return rows.map(({ kind, claim }) => claim?.at ?? kind)
  }

  test.each([
    ['2026-11-20', '2026-11-20'],
    ['2026-11-20 23:59:59.083', '2026-11-20'],
    ['2026-11-20T01:00:00+05:00', '2026-11-19'],
    ['2026/11/20', '2026-11-20'],
    ['20.11.2026', '2026-11-20'],
    ['20.11.26 08:15', '2026-11-20'],
    ['11/20/2026 1:05 PM', '2026-11-20'],
    ['20/11/2026', '2026-11-20'],
    ['20-Nov-2026', '2026-11-20'],
    ['Nov 20, 2026', '2026-11-20'],
    ['20 November 2026', '2026-11-20'],
    // No day of its own: that of the whole export.
    ['', '2026-11-01'],
    // Thirty full days, and one more.
    ['2026-10-23', '2026-10-23'],
    ['2026-10-22', 'billable'],
    // Today in the east; the day after is not.
    ['2026-11-23', '2026-11-23'],
    ['2026-11-24', 'billable'],
    ['2062-11-01', 'billable'],
    ['2026-02-30', 'billable'],
    ['31.11.2026', 'billable'],
    ['yesterday', 'billable'],
    ['20261120', 'billable'],
    [`2026-11-20${' '.repeat(60)}x`, 'billable'],
  ])('%j is read as %s', async (text, day) => {
    expect(await at(text)).toEqual([day])
  })

  test('that is ambiguous must be recent in both readings, unless another row shows the order', async () => {
    expect(await at('11/10/2026')).toEqual(['billable'])
    expect(await at('11/12/2026')).toEqual(['billable'])
    expect(await at('11/11/2026')).toEqual(['2026-11-11'])
    expect(await at('11/10/2026', '10/31/2026')).toEqual(['2026-11-10', '2026-10-31'])
    expect(await at('10/11/2026', '31/10/2026')).toEqual(['2026-11-10', '2026-10-31'])
  })
})
