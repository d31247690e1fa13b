import { expect, test } from 'vitest'
import { parseWhoisDate } from './whois-date.ts'
import { parseWhois } from './whois-parse.ts'

test.each([
  ['2019-06-25T20:04:37Z', '2019-06-25', '2019-06-25T20:04:37Z'],
  ['1999-02-17T00:00:00+13:00', '1999-02-17', '1999-02-16T11:00:00Z'],
  ['2013. 06. 25.', '2013-06-25', null],
  ['1996-Jun-07.', '1996-06-07', null],
  ['20110402 #162310', '2011-04-02', null],
  ['20110402093015', '2011-04-02', '2011-04-02T09:30:15Z'],
  ['16-abr-1997', '1997-04-16', null],
  ['30th April 2003 at 00:00:00.000', '2003-04-30', '2003-04-30T00:00:00Z'],
  ['May 7 2011', '2011-05-07', null],
  ['Tue Feb 17 09:01:02 2004', '2004-02-17', '2004-02-17T09:01:02Z'],
  ['Mon Dec 9 2002', '2002-12-09', null],
  ['before Aug-1996', '1996-08-01', null],
  ['Before 2001-03-01', '2001-03-01', null],
  ['Thu Mar 12 14:03:07 GMT 2009', '2009-03-12', '2009-03-12T14:03:07Z'],
  ['2012/05/06 10:45:59 (JST)', '2012-05-06', '2012-05-06T01:45:59Z'],
  ['2021-11-09 00:00:00 (UTC+8)', '2021-11-09', '2021-11-08T16:00:00Z'],
  ['25.3.2011 11:05:00', '2011-03-25', '2011-03-25T11:05:00Z'],
  ['12/25/2011', '2011-12-25', null],
  ['24-OCT-95', '1995-10-24', null],
])('the date %s is read as %s', (text, day, instant) => {
  expect(parseWhoisDate(text, 'dmy')).toEqual({ day, instant })
})

test.each([
  '',
  '-',
  'N/A',
  '31.02.2011',
  '0000-00-00',
  '1970-01-01',
  '9999-12-31',
  'never',
  '12:30:00',
])('%s is no date', (text) => {
  expect(parseWhoisDate(text, 'dmy')).toBeNull()
})

test('an ambiguous date is read in the given order, unless the reply itself shows the order', () => {
  expect(parseWhoisDate('03/02/2020', 'dmy')?.day).toBe('2020-02-03')
  expect(parseWhoisDate('03/02/2020', 'mdy')?.day).toBe('2020-03-02')
  const reply = 'Domain: x.tt\nCreated: 12/18/2001\nExpires: 03/02/2020\n'
  expect(parseWhois(reply).expires).toBe('2020-03-02')
  expect(parseWhois('Domain: x.tt\nExpires: 03/02/2020\n').expires).toBe('2020-02-03')
})

test('each layout of key and value is read', () => {
  const layouts = [
    'Domain Name: x.test\nRegistrar: Acme Ltd\nCreation Date: 2001-02-03\n',
    'domain.............: x.test\nregistrar..........: Acme Ltd\ncreated............: 3.2.2001\n',
    '[Domain Name]  X.TEST\n[Registrar]  Acme Ltd\n[Created on]  2001/02/03\n',
    'Domain Name:\n    x.test\n\nRegistrar:\n    Acme Ltd\n    http://acme.test\n\nRelevant dates:\n    Registered on: 03-Feb-2001\n',
    'Domain:\nname: x.test\nregistered: 2001-02-03\n\nRegistrar:\nname: Acme Ltd\n',
    'Domain\tx.test\nRegistrar\tAcme Ltd\nCreated\t2001-02-03\n',
    'Registrar\n  Organization: Acme Ltd\n\nDomain: x.test\nCreated: 2001-02-03 00:00:00\n',
    'domain: x.test\nregistrar: AC-ME\ncreated: 03.02.2001\n\nregistrar: AC-ME\nname: Acme Ltd\n',
  ]
  for (const layout of layouts) {
    expect(parseWhois(layout)).toMatchObject({
      registered: true,
      registrar: 'Acme Ltd',
      created: '2001-02-03',
    })
  }
})

test("the registry's expiry precedes the registrar's, whatever their order in the reply", () => {
  const reply =
    'Domain Name: x.test\nRegistrar Registration Expiration Date: 2030-01-01\nRegistry Expiry Date: 2029-12-31\n'
  expect(parseWhois(reply).expires).toBe('2029-12-31')
})

test.each([
  'No match for "X.TEST".',
  'NOT FOUND',
  'Domain not found.',
  '% No entries found for the selected source(s).',
  'Domain: x.test\nStatus: AVAILABLE',
  'x.test is free',
  'Domain Name: x.test\nDomain Status: No Object Found',
  'The queried object does not exist: DOMAIN NOT FOUND',
  'Domain name x.test does not exist in database!',
  'x.test: no existe',
  'No_Se_Encontro_El_Objeto/Object_Not_Found',
  'We do not have an entry in our database matching your query.',
])('a denial is read as not registered: %s', (text) => {
  expect(parseWhois(text)).toMatchObject({ registered: false, throttled: false })
})

test.each([
  'WHOIS LIMIT EXCEEDED - SEE WWW.PIR.ORG/WHOIS FOR DETAILS',
  'You have exceeded your quota of queries.',
  '%% Too many requests...\n%%\n\n%% No entries found in the AFNIC Database.',
  'query_status: 440 Request Denied',
  'Please try again later.',
  'Requests of this client are not permitted. Please use https://registry.test/ for queries.',
  '% Query rate limit exceeded. Reduced information.\ndomain: x.test\nowner: Someone',
  '% Error: 55000000002 Connection refused; access control limit exceeded.',
  '',
])('a refusal never says anything about the name: %s', (text) => {
  expect(parseWhois(text)).toMatchObject({ registered: null, throttled: true })
})

test.each([
  'Name is restricted from registration',
  'Domain: x.test\nStatus: RESERVED',
  'Domain: x.test\nStatus: UNASSIGNABLE',
  'Domain: x.test\nStatus: NOT ALLOWED',
  'Domain Name: x.test\nDomain Status: Prohibited String - Object Cannot Be Registered',
  'Your request cannot be understood.\n\nAll rights reserved by the Test Registry.',
])('a name that nobody may register is not read as registered: %j', (text) => {
  expect(parseWhois(text)).toMatchObject({ registered: null, throttled: false })
})

test('a reserved name with a holder is read as registered', () => {
  const reply = 'Domain Name: x.test\nStatus: RESERVED\nRegistrar: Acme Ltd\n'
  expect(parseWhois(reply)).toMatchObject({ registered: true, reserved: true })
})

test('legal text about limits and matches changes nothing', () => {
  const legal = [
    'You agree not to exceed any limit or quota of queries, and that no match was found is no promise.',
    'Access may be denied or restricted at any time to those who make excessive queries of the database.',
    'The domain name is not registered by you through a reply of this server, whatever the reply may say.',
    'We reserve the right to modify these terms at any time; please try again later is not an answer.',
  ].join('\n')
  const reply = `Domain Name: x.test\nRegistrar: Acme Ltd\nCreation Date: 2001-02-03\n\n${legal}\n`
  expect(parseWhois(reply)).toMatchObject({ registered: true, throttled: false })
  expect(parseWhois(`No match for x.test\n\n${legal}\n`)).toMatchObject({ registered: false })
})

test('a registrar, and 20 statuses at most, are cut to 200 characters', () => {
  const long = 'a'.repeat(900)
  const reply = `Domain: x.test\nRegistrar: ${long}\n${`Status: ${long}\n`.repeat(30)}`
  const { registrar, statuses } = parseWhois(reply)
  expect(registrar).toBe('a'.repeat(200))
  expect(statuses).toEqual(Array.from({ length: 20 }, () => 'a'.repeat(200)))
})

test.each([`a${' '.repeat(998)}`, 'домен '.repeat(49)])(
  'a reply as long as one may be, of hostile lines (%#), does not occupy a worker',
  (line) => {
    const reply = `${line}\n\n`.repeat(Math.floor(256_000 / (line.length + 2)))
    const times = Array.from({ length: 5 }, () => {
      const startedMs = performance.now()
      parseWhois(reply, { domain: 'some.test' })
      return performance.now() - startedMs
    })
    expect(Math.min(...times)).toBeLessThan(600)
  },
)

test('garbage, endless lines and markup give null within a short time', () => {
  const started = performance.now()
  const hostile = [
    '\u0000\u0001\u0002'.repeat(100),
    'a'.repeat(200_000),
    'a: '.repeat(50_000),
    ' '.repeat(200_000) + 'x',
    `created:${' '.repeat(100_000)}x`,
    '. '.repeat(100_000),
    '<html><body>Bad gateway</body></html>',
    'domain '.repeat(50_000),
  ]
  for (const text of hostile) expect(parseWhois(text).registered).toBeNull()
  expect(performance.now() - started).toBeLessThan(20_000)
})

test.each([
  [
    "Domain: name.test\nBureau d'enregistrement: Acme\nDate de création: 2001-02-03\nDate d'expiration: 2027-02-03\n",
  ],
  [
    'Dominio: name.test\nRegistrador: Acme\nFecha de registro: 03/02/2001\nFecha de vencimiento: 03/02/2027\n',
  ],
  [
    'Nome de domínio: name.test\nEntidade registradora: Acme\nData de criação: 03/02/2001\nData de expiração: 03/02/2027\n',
  ],
  [
    'Domain: name.test\nRegistrar: Acme\nRegistrierungsdatum: 03.02.2001\nAblaufdatum: 03.02.2027\n',
  ],
  [
    'Домен: name.test\nРегистратор: Acme\nДата регистрации: 03.02.2001\nДата окончания регистрации: 03.02.2027\n',
  ],
  [
    'Alan adı: name.test\nKayıt Kuruluşu: Acme\nKayıt tarihi: 03.02.2001\nBitiş tarihi: 03.02.2027\n',
  ],
  ['Tên miền: name.test\nNhà đăng ký: Acme\nNgày đăng ký: 03-02-2001\nNgày hết hạn: 03-02-2027\n'],
  ['域名: name.test\n注册商: Acme\n注册时间: 2001-02-03 12:20:05\n过期时间: 2027-02-03 12:20:05\n'],
  ['網域名稱: name.test\n註冊商: Acme\n建立日期: 2001-02-03\n到期日期: 2027-02-03\n'],
  [
    'Domain  name    name.test\nRegistrar    Acme\nRegistered on   2001-02-03\nExpires    on   2027-02-03\n',
  ],
])('a record is read in the language of its registry: %j', (reply) => {
  expect(parseWhois(reply)).toMatchObject({
    registered: true,
    registrar: 'Acme',
    created: '2001-02-03',
    expires: '2027-02-03',
  })
})
