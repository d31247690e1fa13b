import iconv from 'iconv-lite'
import { describe, expect, it } from 'vitest'
import { readBytes } from './batch-file-fixture.ts'
import { PEOPLE } from './people-fixture.ts'

/** A list of people as an old spreadsheet program exports it: ids, names and addresses. */
function listOf(cells: readonly string[], times = 1): string {
  const rows = Array.from({ length: times }, () => cells).flat()
  const lines = rows.map((cell, at) => `${at};"${cell}";user${at}@example.com;2026-11-01`)
  return ['id;name;email;date', ...lines, ''].join('\r\n')
}

function namesOf(rows: readonly { readonly cells: readonly string[] }[]): (string | undefined)[] {
  return rows.map(({ cells }) => cells[1])
}

/**
 * The text with tone marks as separate characters: Windows-1258 has letters with a circumflex,
 * breve or horn, followed by the mark of the tone.
 */
function withMarksApart(text: string): string {
  return text
    .normalize('NFD')
    .replaceAll(/(\p{L})(\p{M}+)/gu, (_, letter: string, marks: string) => {
      const shapes = marks.replaceAll(/[^\u0302\u0306\u031b]/g, '')
      return (letter + shapes).normalize('NFC') + marks.replaceAll(/[\u0302\u0306\u031b]/g, '')
    })
}

const CASES = PEOPLE.flatMap(({ language, encodings, cells }) =>
  encodings.map((encoding) => {
    // Characters that an encoding lacks cannot have been in its file.
    const own = (language === 'Vietnamese' ? cells.map(withMarksApart) : cells).filter(
      (cell) => iconv.decode(iconv.encode(cell, encoding), encoding) === cell,
    )
    return { language, encoding, own }
  }),
)

describe(
  'a list of names, streets and cities is read as it was written',
  { timeout: 60_000 },
  () => {
    it.each(CASES)('$language in $encoding', async ({ encoding, own }) => {
      expect(own.length).toBeGreaterThan(4)
      const { rows, file } = await readBytes(iconv.encode(listOf(own), encoding))
      expect(namesOf(rows)).toEqual(own)
      expect(file.found?.confidence).toBeGreaterThan(0.5)
    })

    it('of three rows, in the languages of Western Europe', async () => {
      const western = CASES.filter(({ encoding }) => encoding === 'windows-1252')
      for (const { own } of western) {
        for (let at = 0; at + 3 <= own.length; at += 3) {
          const few = own.slice(at, at + 3)
          const { rows } = await readBytes(iconv.encode(listOf(few), 'windows-1252'))
          expect(namesOf(rows)).toEqual(few)
        }
      }
    })

    it('of all of Western Europe in one file', async () => {
      const all = CASES.filter(({ encoding }) => encoding === 'windows-1252').flatMap(
        ({ own }) => own,
      )
      const { rows, file } = await readBytes(iconv.encode(listOf(all), 'windows-1252'))
      expect(file.encoding).toBe('windows-1252')
      expect(namesOf(rows)).toEqual(all)
    })

    it('after 20 MB of ASCII', async () => {
      const polish = CASES.find(({ language }) => language === 'Polish')?.own ?? []
      const plain = '0;"Ann";ann@firm.example;2026-11-01\n'.repeat(600_000)
      const bytes = Buffer.concat([
        Buffer.from(plain),
        iconv.encode(listOf(polish), 'windows-1250'),
      ])
      const { file } = await readBytes(bytes)
      expect(file.encoding).toBe('windows-1250')
    })
  },
)

describe('a declared encoding takes precedence over a guess', () => {
  it('by the client, before all others', async () => {
    const { rows, file } = await readBytes(iconv.encode(listOf(['Łódź']), 'iso-8859-2'), {
      encoding: 'Latin-2',
    })
    expect([file.encoding, file.found?.confidence]).toEqual(['iso-8859-2', 1])
    expect(namesOf(rows)).toEqual(['Łódź'])
  })

  it.each(['utf-32le', 'utf-32be'])('by a byte order mark of %s', async (encoding) => {
    const bytes = iconv.encode(listOf(['Łódź', '東京']), encoding, { addBOM: true })
    const { rows, file } = await readBytes(bytes)
    expect([file.encoding, namesOf(rows)]).toEqual([encoding, ['Łódź', '東京']])
  })

  it('by the zero bytes of UTF-16, among names that have none', async () => {
    const names = ['Екатеринбург и область', '株式会社あおぞら東京都新宿区', 'Нижний Новгород']
    const { rows, file } = await readBytes(
      iconv.encode(listOf(names), 'utf-16le', { addBOM: false }),
    )
    expect([file.encoding, namesOf(rows)]).toEqual(['utf-16le', names])
  })

  it.each(['utf-16', 'utf-16le', 'utf-16be'])(
    'of UTF-16 has the byte order of its mark: %s',
    async (encoding) => {
      const text = Buffer.from('\ufeffemail\nzoë@a.example\n', 'utf16le')
      for (const [bytes, found] of [
        [text, 'utf-16le'],
        [Buffer.from(text).swap16(), 'utf-16be'],
      ] as const) {
        const { file, rows } = await readBytes(bytes, { encoding })
        expect(file).toMatchObject({ encoding: found, header: ['email'] })
        expect(rows[0]?.cells).toEqual(['zoë@a.example'])
      }
    },
  )

  it('an unknown encoding is refused', async () => {
    await expect(readBytes('a@b.example\n', { encoding: 'klingon' })).rejects.toThrow(
      /encoding "klingon" is not known/,
    )
  })
})

describe('a file of UTF-8 with broken rows', { timeout: 30_000 }, () => {
  const broken = Buffer.from('0;"Zo\xeb";bad@example.com;\n', 'latin1')
  const good = Buffer.from('0;"Zoë";zoe@example.com;"A \ufffd"\n')

  it.each([
    ['one in a thousand', 999, 1],
    ['one in ten', 9, 1],
  ])('refuses these by number and reads the others: %s', async (_, whole, bad) => {
    const { file, rows, summary } = await readBytes(
      Buffer.concat([
        Buffer.from('id;name;email;note\n'),
        ...Array.from({ length: whole }, () => good),
        ...Array.from({ length: bad }, () => broken),
        good,
      ]),
    )
    expect(file.encoding).toBe('utf-8')
    expect(summary.counts).toMatchObject({ refused: bad, billable: 1, duplicate: whole })
    expect(rows[whole]).toMatchObject({
      kind: 'refused',
      cells: ['0', 'Zo\ufffd', 'bad@example.com', ''],
      error: 'the record is not valid UTF-8',
    })
    // Replacement characters in the file itself are no fault.
    expect(rows[0]).toMatchObject({
      kind: 'billable',
      cells: ['0', 'Zoë', 'zoe@example.com', 'A \ufffd'],
    })
  })

  it('has another encoding if most of its rows have it', async () => {
    const old = iconv.encode(listOf(['Jürgen Müller', 'Käthe Schäfer']), 'windows-1252')
    const { file } = await readBytes(Buffer.concat([old, good]))
    expect(file.encoding).toBe('windows-1252')
  })

  it('and JSON records', async () => {
    const { rows } = await readBytes(
      Buffer.concat([
        Buffer.from('{"email":"zoe@example.com","name":"Zoë"}\n'.repeat(9)),
        Buffer.from('{"email":"bad@example.com","name":"Zo\xeb"}\nx\xeb\n', 'latin1'),
      ]),
      { fileName: 'a.ndjson' },
    )
    expect(rows.map(({ kind }) => kind).slice(7)).toEqual([
      'duplicate',
      'duplicate',
      'refused',
      'refused',
    ])
    expect(rows.at(-1)?.cells).toEqual(['"x\ufffd"'])
  })
})
