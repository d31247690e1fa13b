import { describe, expect, it } from 'vitest'
import { CHECKS } from '@plumbline/contract/products'
import { CRM_EXPORTS } from './exports-crm-fixture.ts'
import { MAILING_EXPORTS } from './exports-mailing-fixture.ts'
import { SHOP_EXPORTS } from './exports-shop-fixture.ts'
import { readBytes } from './batch-file-fixture.ts'

/** Confidence below which a column counts as holding no subjects. */
const MIN_CONFIDENCE = 0.32

describe('lines above a header', () => {
  const below = 'First name,Last name,Email,City\nAnn,Lee,a@b.example,Rome\n'

  it.each([
    ['a title', 'Our contacts\n'],
    ['a title padded to the width', 'Our contacts,,,\n,,,\n'],
    ['notes over two lines', '"Notes:\nof ours"\n\n'],
    ['pairs of name and value', 'Exported on,2026-01-01\nBy,Bo Ek\n'],
  ])('%s: are skipped', async (_, above) => {
    const { file, rows } = await readBytes(`${above}${below}`)
    expect(file.header).toEqual(['First name', 'Last name', 'Email', 'City'])
    expect(rows.map(({ subjects }) => subjects.email)).toEqual(['a@b.example'])
  })

  it.each([
    ['a title of the width of one column', 'Report of 2026-11-28\nTotal: 2\n\nEmail\n', ''],
    [
      'notes as wide as the header, and a blank line',
      'Kontakte;28.11.2026\n\nE-Mail;Ort\n',
      ';Rom',
    ],
    ['a title and a blank line above unknown names', 'Kontakte\n\nPrivatadresse,Ort\n', ',Rom'],
    ['a title above one known name', 'Our people\nKürzel,E-Mail,Ort\n', ',Rom', 'k,'],
    [
      'titles of one and three cells',
      'Table: ADRC\n28.11.2026\tList\t1\n\nE-Mail Address\tCity\n',
      '\tRome',
    ],
    [
      'a title and lines of a table that a report draws',
      '28.11.2026     List\n-----\n|E-Mail Address|City|\n-----\n',
      '|Rome|',
      '|',
    ],
  ])('%s: are skipped before values', async (_, above, behind, before = '') => {
    const lines = ['a@b.example', 'c@d.example'].map((email) => `${before}${email}${behind}\n`)
    const { rows } = await readBytes(above + lines.join(''))
    const read = rows.flatMap(({ kind, subjects }) => (kind === 'billable' ? [subjects.email] : []))
    expect(read).toEqual(['a@b.example', 'c@d.example'])
  })

  it.each([
    ['an address', 'c@d.example\n'],
    ['a number', 'Ann,+442079460958\n'],
    ['a line as wide as the header', 'Ann,Lee,x,Rome\n'],
  ])('%s: may be a record, and are kept', async (_, above) => {
    const { rows } = await readBytes(`${above}${below}`, { mapping: { email: 2 } })
    expect(rows.length).toBeGreaterThanOrEqual(2)
  })

  it('are kept if the client says that there is no header', async () => {
    const { rows } = await readBytes(`Our contacts\n${below}`, {
      header: false,
      mapping: { email: 2 },
    })
    expect(rows).toHaveLength(3)
  })
})

describe('columns of numbers without a plus are found by their names', () => {
  it.each([
    'البريد الإلكتروني,رقم الهاتف',
    'الإيميل,الجوال',
    'ایمیل,تلفن همراه',
    'אימייל,טלפון נייד',
    '이메일,휴대폰 번호',
    'Eメール,携帯電話番号',
    '電子郵件,手機號碼',
    'Ηλεκτρονικό ταχυδρομείο,Κινητό',
    'E-posta,Cep telefonu',
    'E-posta adresi,Telefon numarası',
    'E-mail,Telemóvel',
    'Email,Số điện thoại',
    'Электронная почта,Мобильный телефон',
  ])('%s', async (header) => {
    const { file, rows } = await readBytes(`${header}\na@b.example,442079460958\n`, {
      product: 'contact-intel',
    })
    expect(file.mapping).toMatchObject({ email: { column: 0 }, phone: { column: 1 } })
    expect(rows[0]?.subjects.phone).toBe('+442079460958')
  })
})

describe('columns of exports', () => {
  it.each([...CRM_EXPORTS, ...MAILING_EXPORTS, ...SHOP_EXPORTS])('$name', async (known) => {
    const { file, rows } = await readBytes(`${known.header}\n${known.row}\n`, {
      product: 'email',
      mapping: { email: 0 },
    })
    const found = CHECKS.map((check) => [
      check,
      file.roles[check]
        .filter(({ confidence }) => confidence >= MIN_CONFIDENCE)
        .map(({ header }) => header)
        .toSorted(),
    ])
    const expected = CHECKS.map((check) => [
      check,
      (known[check] ?? '').split('|').filter(Boolean).toSorted(),
    ])
    expect(Object.fromEntries(found)).toEqual(Object.fromEntries(expected))
    expect(rows).toHaveLength(1)
  })
})
