import { describe, expect, test } from 'vitest'
import { readBytes } from './batch-file-fixture.ts'
import { rowOf, xlsxOf } from './workbook-fixture.ts'

type Row = readonly string[]

async function read(rows: readonly Row[]) {
  const xml = rows.map((cells) => rowOf(...cells)).join('')
  return await readBytes(await xlsxOf({ rows: xml }), {
    fileName: 'people.xlsx',
    product: 'contact-intel',
  })
}

const ANN = ['Ann', 'ann@a.example', '+14155550100', 'Acme']
const BOB = ['Bob', 'bob@b.example', '+14155550101', 'Blue']

describe('a header of two rows is merged into one', () => {
  test.each<[string, readonly Row[], Row, string]>([
    [
      'groups above all columns',
      [
        ['Person', '', 'Work', ''],
        ['Name', 'Email', 'Phone', 'Company'],
      ],
      ['Person Name', 'Person Email', 'Work Phone', 'Work Company'],
      'Person Email',
    ],
    [
      'names that are merged over both rows',
      [
        ['Name', 'Contact', '', 'Company'],
        ['', 'Email', 'Phone', ''],
      ],
      ['Name', 'Contact Email', 'Contact Phone', 'Company'],
      'Contact Email',
    ],
    [
      'a title above',
      [
        ['Customers of 2026', '', '', ''],
        ['', '', '', ''],
        ['Person', '', 'Work', ''],
        ['Name', 'Email', 'Phone', 'Company'],
      ],
      ['Person Name', 'Person Email', 'Work Phone', 'Work Company'],
      'Person Email',
    ],
  ])('%s', async (_, head, header, email) => {
    const { file, rows } = await read([...head, ANN, BOB])
    expect(file.header).toEqual(header)
    expect(rows.map(({ cells }) => cells)).toEqual([ANN, BOB])
    expect(file.header?.[file.mapping.email?.column ?? -1]).toBe(email)
    expect(rows[0]?.subjects).toMatchObject({ email: 'ann@a.example', phone: '+14155550100' })
  })

  test('equal names in two groups are distinguished', async () => {
    const { file } = await read([
      ['Id', 'Work', '', 'Home', ''],
      ['', 'Email', 'Phone', 'Email', 'Phone'],
      ['a', 'a@a.example', '+14155550100', 'b@b.example', '+14155550101'],
    ])
    expect(file.header).toEqual(['Id', 'Work Email', 'Work Phone', 'Home Email', 'Home Phone'])
  })
})

describe('a record is not taken for a part of the header', () => {
  test.each<[string, readonly Row[], Row, number]>([
    [
      'a plain header',
      [['Name', 'Email', 'Phone', 'Company'], ANN, BOB],
      ['Name', 'Email', 'Phone', 'Company'],
      2,
    ],
    [
      'a header above a record without its email',
      [['Name', 'Email', 'Phone', 'Company'], ['Cy', '', '', 'Cyan'], ANN],
      ['Name', 'Email', 'Phone', 'Company'],
      2,
    ],
    [
      'a column without a name above a record',
      [['Name', 'Email', '', 'Company'], ['Cy', 'c@c.example', 'x', 'Cyan'], ANN],
      ['Name', 'Email', '', 'Company'],
      2,
    ],
    [
      'a title over all columns',
      [['Customers', '', '', ''], ['Name', 'Email', 'Phone', 'Company'], ANN, BOB],
      ['Name', 'Email', 'Phone', 'Company'],
      2,
    ],
  ])('%s', async (_, all, header, count) => {
    const { file, rows } = await read(all)
    expect(file.header).toEqual(header)
    expect(rows).toHaveLength(count)
  })

  test('a setting of the customer takes precedence', async () => {
    const xml = [
      ['Name', 'Contact', ''],
      ['', 'Email', 'Phone'],
      ['Ann', 'a@a.example', '+14155550100'],
    ]
      .map((cells) => rowOf(...cells))
      .join('')
    const { file, rows } = await readBytes(await xlsxOf({ rows: xml }), {
      fileName: 'a.xlsx',
      header: true,
    })
    expect(file.header).toEqual(['Name', 'Contact'])
    expect(rows).toHaveLength(2)
  })
})
