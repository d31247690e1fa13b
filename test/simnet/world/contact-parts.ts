import type { Random } from '../random.ts'

/** Mobile numbers by country: calling code, first digits, and number of further digits. */
export const MOBILES = [
  { code: '44', first: ['7400', '7410', '7711', '7911'], rest: 6 },
  { code: '49', first: ['1511', '1520', '1601', '1701'], rest: 7 },
  { code: '33', first: ['61', '62', '66', '75'], rest: 7 },
  { code: '34', first: ['61', '63', '65', '69'], rest: 7 },
  { code: '39', first: ['320', '333', '347', '349'], rest: 7 },
  { code: '41', first: ['76', '78', '79'], rest: 7 },
  { code: '46', first: ['70', '72', '73', '76'], rest: 7 },
  { code: '48', first: ['501', '601', '691', '781'], rest: 6 },
  { code: '55', first: ['1198', '2197', '3199'], rest: 7 },
  { code: '61', first: ['412', '421', '432'], rest: 6 },
  { code: '81', first: ['90', '80'], rest: 8 },
  { code: '91', first: ['981', '991', '987'], rest: 7 },
] as const

/** Numbers without an HLR lookup: landlines, toll-free, premium. */
export const FIXED = [
  '+442079460',
  '+49301234',
  '+33142681',
  '+390612345',
  '+12125550',
  '+18005550',
  '+448081570',
  '+81312345',
] as const

/** Texts that people enter in place of a phone number. */
export const NOT_PHONES = [
  '+44123',
  '+999123456789',
  'n/a',
  '12345',
  '+1 555',
  'ask reception',
  '+4400000000000000',
] as const

/** Networks of the public internet by kind; a star stands for a random number. */
export const NETWORKS = {
  household: [
    '73.162.14.*',
    '98.207.31.*',
    '24.16.88.*',
    '86.148.22.*',
    '81.152.7.*',
    '87.138.44.*',
    '91.12.63.*',
    '90.63.201.*',
    '82.64.17.*',
    '79.18.4.*',
    '83.44.120.*',
    '178.83.9.*',
    '94.254.33.*',
    '89.64.12.*',
    '187.74.5.*',
    '126.77.18.*',
    '49.36.81.*',
    '110.33.5.*',
    '2601:647:4b00:1::*',
    '2003:c7:1f00:2::*',
    '2a01:cb00:100:3::*',
    '2a02:c7d:44:5::*',
  ],
  cloud: [
    '52.95.110.*',
    '3.8.37.*',
    '34.89.12.*',
    '35.205.61.*',
    '20.50.2.*',
    '88.198.44.*',
    '95.216.7.*',
    '51.68.33.*',
    '104.131.55.*',
    '172.104.9.*',
    '2a01:4f8:10a:6::*',
    '2600:1f18:22::*',
  ],
  tor: ['185.220.101.*', '23.129.64.*', '199.249.230.*', '45.66.35.*'],
  vpn: ['193.138.218.*', '185.65.134.*', '146.70.120.*', '37.19.200.*'],
  known: [
    '8.8.8.8',
    '1.1.1.1',
    '9.9.9.9',
    '208.67.222.222',
    '66.249.66.1',
    '2001:4860:4860::8888',
    '2606:4700:4700::1111',
  ],
  special: [
    '10.0.0.7',
    '192.168.1.20',
    '172.16.4.9',
    '127.0.0.1',
    '169.254.10.1',
    '100.64.3.2',
    '192.0.2.44',
    '203.0.113.9',
    '224.0.0.1',
    '2001:db8::17',
    'fe80::1',
    'fd00::12',
    '::1',
  ],
  malformed: ['999.10.2.1', '10.1.2', 'unknown', '192.168.1.1:8080', '1.2.3.4.5'],
} as const

/** Mistyped domains; none of them exists in the world. */
export const MISSPELT = [
  'gmial.com',
  'gmai.com',
  'gamil.com',
  'gmail.con',
  'hotmial.com',
  'hotmai.com',
  'outlok.com',
  'outloook.com',
  'yaho.com',
  'yahooo.com',
  'yahoo.con',
  'iclod.com',
  'icloud.con',
  'gmx.ned',
  'aol.con',
] as const

/** Forms of malformed addresses; `%l` is the local part, `%d` the domain. */
export const BROKEN = [
  '%l',
  '%l@',
  '@%d',
  '%l@@%d',
  '%l %d',
  '%l@.%d',
  '.%l@%d',
  '%l.@%d',
  '%l..x@%d',
  '%l@%d.',
  '%l@-%d',
  '%l@%d,',
  '<%l@%d',
  'mailto:%l@%d',
  '%l(at)%d',
  '%l@[300.1.1.1]',
  'none',
  '-',
] as const

/** A random address that matches a network pattern. */
export function fillAddress(pattern: string, random: Random): string {
  return pattern.replace('*', () =>
    pattern.includes(':') ? (1 + random.int(0xfffe)).toString(16) : String(1 + random.int(254)),
  )
}

/** This many random digits. */
export function digits(count: number, random: Random): string {
  let text = ''
  while (text.length < count) text += String(random.int(10))
  return text
}
