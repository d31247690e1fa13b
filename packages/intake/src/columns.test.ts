import type { Check, Product } from '@plumbline/contract/products'
import { describe, expect, it } from 'vitest'
import { readBytes } from './batch-file-fixture.ts'
import { nameScore } from './column-names.ts'
import { findHeader } from './header.ts'

/** Header lines as the programs write them, each with a plausible record. */
const EXPORTS: [string, string, string, Partial<Record<Check, string>>][] = [
  [
    'Google Contacts',
    'First Name,Middle Name,Last Name,Organization Name,Birthday,Notes,Photo,Labels,E-mail 1 - Label,E-mail 1 - Value,E-mail 2 - Label,E-mail 2 - Value,Phone 1 - Label,Phone 1 - Value,Phone 2 - Label,Phone 2 - Value,Website 1 - Label,Website 1 - Value',
    'Ann,,Lee,Firm Ltd,,,https://lh3.example/x,* myContacts,* Work,ann@firm.example,Home,ann@home.example,Mobile,+44 20 7946 0958,,,Profile,https://firm.example/ann',
    { email: 'E-mail 1 - Value', phone: 'Phone 1 - Value', domain: 'Website 1 - Value' },
  ],
  [
    'Google Contacts of old',
    'Name,Given Name,Additional Name,Family Name,Group Membership,E-mail 1 - Type,E-mail 1 - Value,Phone 1 - Type,Phone 1 - Value,Website 1 - Type,Website 1 - Value',
    'Ann Lee,Ann,,Lee,* My Contacts,* Home,ann@firm.example ::: a@b.example,Mobile,+442079460958,Work,firm.example',
    { email: 'E-mail 1 - Value', phone: 'Phone 1 - Value', domain: 'Website 1 - Value' },
  ],
  [
    'Outlook',
    'First Name,Last Name,Company,Business Fax,Business Phone,Company Main Phone,Home Phone,Mobile Phone,Other Phone,Pager,Primary Phone,Telex,E-mail Address,E-mail Type,E-mail Display Name,E-mail 2 Address,E-mail 2 Type,Web Page',
    'Ann,Lee,Firm,+442079460950,+442079460951,,,+447700900123,,,,,ann@firm.example,SMTP,Ann Lee (ann@firm.example),,,http://www.firm.example',
    { email: 'E-mail Address', phone: 'Mobile Phone', domain: 'Web Page' },
  ],
  [
    'HubSpot',
    'Record ID,First Name,Last Name,Email,Phone Number,Mobile Phone Number,Contact owner,Lead Status,Marketing contact status,Create Date,Associated Company,Website URL,Email Domain,IP Country,IP City',
    '51,Ann,Lee,ann@firm.example,+44 20 7946 0958,,Bo Ek,New,Marketing contact,2026-01-01 10:00,Firm,firm.example,firm.example,united kingdom,london',
    { email: 'Email', phone: 'Phone Number', domain: 'Email Domain' },
  ],
  [
    'Mailchimp',
    'Email Address,First Name,Last Name,Address,Phone Number,MEMBER_RATING,OPTIN_TIME,OPTIN_IP,CONFIRM_TIME,CONFIRM_IP,LATITUDE,LONGITUDE,GMTOFF,DSTOFF,TIMEZONE,CC,REGION,LAST_CHANGED,LEID,EUID,NOTES,TAGS',
    'ann@firm.example,Ann,Lee,,+442079460958,2,2026-01-01 10:00:00,,2026-01-01 10:00:00,192.0.2.7,51.5,-0.1,0,1,Europe/London,GB,ENG,2026-01-01 10:00:00,123456,abc1,,',
    { email: 'Email Address', phone: 'Phone Number', ip: 'CONFIRM_IP' },
  ],
  [
    'Salesforce',
    'Id,AccountId,LastName,FirstName,Salutation,MailingCity,Phone,Fax,MobilePhone,HomePhone,OtherPhone,AssistantPhone,Email,Title,HasOptedOutOfEmail,DoNotCall,EmailBouncedReason,EmailBouncedDate,PhotoUrl',
    '0035g00000AbCdE,0015g,Lee,Ann,Ms,London,+442079460958,+442079460959,,,,,ann@firm.example,CEO,false,false,,,/services/images/photo/003',
    { email: 'Email', phone: 'Phone' },
  ],
  [
    'German Outlook',
    'Vorname;Nachname;Firma;Fax geschäftlich;Telefon geschäftlich;Mobiltelefon;E-Mail-Adresse;E-Mail-Typ;E-Mail: Angezeigter Name;Webseite',
    'Ann;Lee;Firma;+49301234569;+49301234567;+4915112345678;ann@firm.example;SMTP;Ann Lee;www.firm.example',
    { email: 'E-Mail-Adresse', phone: 'Mobiltelefon', domain: 'Webseite' },
  ],
  [
    'a shop',
    'customer_id,emailAddress,phoneNumber,ip_address,created_at,domain',
    '7,ann@firm.example,+442079460958,2001:db8::1,2026-01-01,firm.example',
    { email: 'emailAddress', phone: 'phoneNumber', ip: 'ip_address', domain: 'domain' },
  ],
]

it('numbers below an unrelated column name are no phone numbers', async () => {
  const text = 'email,population\na@b.example,9616353\nc@d.example,9799379\n'
  const { file } = await readBytes(text, { product: 'deliverability' })
  expect(file.mapping.phone).toBeUndefined()
})

describe('columns of exports', () => {
  it.each(EXPORTS)('%s', async (_, header, record, expected) => {
    const { file, rows } = await readBytes(`${header}\r\n${record}\r\n`, {
      product: 'fraud-signals',
    })
    const found = Object.fromEntries(
      Object.entries(file.mapping)
        .filter(([field]) => field !== 'ref')
        .map(([field, column]) => [field, column.header]),
    )
    expect(found).toEqual(expected)
    expect(rows[0]?.subjects.email).toBe('ann@firm.example')
    expect(file.mapping.email?.confidence).toBeGreaterThan(0.7)
  })

  it('of several columns of one kind the best is chosen, with less confidence', async () => {
    const one = await readBytes('Email,Name\na@b.example,Ann\n')
    const two = await readBytes('Work Email,Home Email\na@b.example,c@d.example\n')
    expect(one.file.mapping.email?.confidence).toBe(1)
    expect(two.file.mapping.email).toMatchObject({ column: 0 })
    expect(two.file.mapping.email?.confidence).toBeLessThan(0.7)
    const filled = await readBytes('Mobile,Phone\n,+442079460958\n,+442079460959\n', {
      product: 'phone',
    })
    expect(filled.file.mapping.phone?.column).toBe(1)
  })

  it.each<[Product, string]>([
    ['phone', '+442079460958,Ann\n+442079460959,Bo\n'],
    ['phone', '(+44) 20 7946 0958,Ann\n(+44) 20 7946 0959,Bo\n'],
    ['ip', '192.0.2.1,Ann\n2001:db8::1,Bo\n'],
    ['domain', 'firm.example,Ann\nother.example,Bo\n'],
    ['email', 'Ann,a@b.example\nBo,c@d.example\n'],
  ])('of a file without names are told by their cells: %s', async (product, text) => {
    const { file, rows } = await readBytes(text, { product })
    expect(file.header).toBeNull()
    expect(rows.map(({ kind }) => kind)).toEqual(['billable', 'billable'])
  })

  it.each([
    ['Adresse e\u0301lectronique', 'adresse \u00e9lectronique'],
    ['\u202bבית\u202c', 'בית'],
    [' Privat\u200b', 'privat'],
  ])('a column is mapped by what its name %j looks like', async (name, asked) => {
    const { file } = await readBytes(`x,${name}\n1,a@b.example\n`, { mapping: { email: asked } })
    expect(file.mapping.email).toMatchObject({ column: 1, header: name })
  })

  it('objects and arrays of JSON are no column of values, whatever their name', async () => {
    const of = (address: string): object => ({
      emails: [address],
      contact: { email: address },
      primary: address,
    })
    const lines = [of('a@b.example'), of('c@d.example')].map((line) => JSON.stringify(line))
    const { file, rows } = await readBytes(lines.join('\n'), { fileName: 'people.ndjson' })
    expect(file.mapping.email?.header).toBe('primary')
    expect(rows.map(({ subjects }) => subjects.email)).toEqual(['a@b.example', 'c@d.example'])
    const other = '{"emails":["a@b.example"],"owner_email":"me@firm.example"}'
    const theirs = await readBytes(other, { fileName: 'people.ndjson' })
    expect(theirs.file.mapping.email?.header).toBe('emails')
    const nested = readBytes('{"id":"1","contact":{"email":"a@b.example"}}\n')
    await expect(nested).rejects.toThrow(/No column of email addresses was found among "id"/)
  })

  it('a mapping by the client takes precedence', async () => {
    const text = 'Email,Private,ID\na@b.example,c@d.example,x1\n'
    const { rows } = await readBytes(text, { mapping: { email: 'private', ref: 2 } })
    expect(rows[0]).toMatchObject({ subjects: { email: 'c@d.example' }, ref: 'x1' })
  })
})

it.each<[Check, string, boolean]>([
  ['email', 'Email ID', true],
  ['email', 'Correo electrónico', true],
  ['email', 'メールアドレス', true],
  ['email', 'อีเมล์', true],
  ['email', 'ई-मेल पता', true],
  ['email', 'Email Opt In', false],
  ['email', 'Email Status', false],
  ['email', 'Name', false],
  ['phone', 'Tel.', true],
  ['phone', 'เบอร์โทรศัพท์', true],
  ['phone', 'हमारा फ़ोन नंबर', false],
  ['phone', 'फ़ोन नंबर', true],
  ['phone', 'संपर्क नं.', true],
  ['phone', 'เบอร์ติดต่อ', true],
  ['phone', 'मोबाइल', true],
  ['phone', 'Fax', false],
  ['phone', 'Phone Type', false],
  ['phone', 'Country Code', false],
  ['ip', 'IP', true],
  ['ip', 'IP Country', false],
  ['ip', 'ZIP', false],
  ['ip', 'Tip', false],
  ['domain', 'Website', true],
  ['domain', 'LinkedIn URL', false],
  ['domain', 'Company Domain Name', true],
])('%s: the name %j says %s', (check, name, yes) => {
  expect(nameScore(check, name) >= 0.5).toBe(yes)
})

it('numbers in the digits of another script are found by their cells', async () => {
  const text = 'الاسم,الجوال\nأحمد,٠٥٠ ١٢٣ ٤٥٦٧\nخالد,٠٥٠ ١٢٣ ٤٥٦٨\n'
  const { file, rows } = await readBytes(text, { product: 'phone', defaultCountry: 'AE' })
  expect(file.mapping.phone?.column).toBe(1)
  expect(rows.map(({ subjects }) => subjects.phone)).toEqual(['+971501234567', '+971501234568'])
})

it.each<[string, string[][], boolean]>([
  [
    'names over numbers',
    [
      ['a', 'b'],
      ['1', '2'],
      ['3', '4'],
    ],
    true,
  ],
  [
    'known names',
    [
      ['First name', 'City'],
      ['Ann', 'Rome'],
    ],
    true,
  ],
  [
    'numbers over numbers',
    [
      ['5', '6'],
      ['1', '2'],
      ['3', '4'],
    ],
    false,
  ],
  [
    'an address on top',
    [
      ['a@b.example', 'Ann'],
      ['c@d.example', 'Bo'],
    ],
    false,
  ],
  [
    'names over JSON',
    [
      ['key', 'val'],
      ['1', '{"a":1}'],
    ],
    true,
  ],
  ['a malformed address on top', [['ann@firm'], ['c@d.example'], ['e@f.example']], false],
  [
    'an address with a name on top',
    [
      ['Ann Lee <a@b.example>', 'Rome'],
      ['c@d.example', 'Bonn'],
    ],
    false,
  ],
  ['an address with a port on top', [['192.0.2.1:80'], ['192.0.2.2'], ['192.0.2.3']], false],
  ['a URL without a name on top', [['http://192.0.2.1/x'], ['b.example'], ['c.example']], false],
  [
    'a number with a note on top',
    [['+44 20 7946 0958 (work)'], ['+442079460959'], ['+442079460960']],
    false,
  ],
  ['no value on top', [['n/a'], ['+442079460959'], ['+442079460960']], false],
  ['a name with an at sign', [['E-M@il'], ['c@d.example'], ['e@f.example']], true],
  ['a known name with an address', [['Email (you@firm.example)'], ['c@d.example']], true],
  [
    'a repeated first record',
    [
      ['x', 'y'],
      ['x', 'y'],
      ['x', 'z'],
    ],
    false,
  ],
  [
    'codes of one length',
    [
      ['ab', 'cd'],
      ['ef', 'gh'],
      ['ij', 'kl'],
      ['mn', 'op'],
    ],
    false,
  ],
])('a header is found by %s', (_, rows, found) => {
  expect(findHeader(rows)).toBe(found)
})
