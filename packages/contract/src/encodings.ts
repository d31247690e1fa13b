/** The supported encodings of a batch's file, by the names that a batch shows. */
export const ENCODINGS = [
  'utf-8',
  'utf-16le',
  'utf-16be',
  'utf-32le',
  'utf-32be',
  'windows-1252',
  'windows-1250',
  'windows-1251',
  'windows-1253',
  'windows-1254',
  'windows-1255',
  'windows-1256',
  'windows-1257',
  'windows-1258',
  'windows-874',
  'iso-8859-2',
  'iso-8859-4',
  'iso-8859-5',
  'iso-8859-6',
  'iso-8859-7',
  'iso-8859-8',
  'iso-8859-9',
  'iso-8859-13',
  'iso-8859-15',
  'koi8-r',
  'koi8-u',
  'macintosh',
  'maccenteuro',
  'maccyrillic',
  'ibm437',
  'ibm737',
  'ibm775',
  'ibm850',
  'ibm852',
  'ibm857',
  'ibm866',
  'shift_jis',
  'euc-jp',
  'gb18030',
  'big5',
  'euc-kr',
] as const
/** Encoding of a batch's file. */
export type Encoding = (typeof ENCODINGS)[number]

/**
 * Other names of encodings, without punctuation. An encoding that is (nearly) a subset of another
 * is read as that one, as browsers do. Source: WHATWG Encoding, section 4.2.
 */
const ALIASES: Readonly<Record<string, Encoding>> = {
  ascii: 'windows-1252',
  usascii: 'windows-1252',
  latin1: 'windows-1252',
  iso88591: 'windows-1252',
  ansi: 'windows-1252',
  latin2: 'iso-8859-2',
  latin5: 'iso-8859-9',
  latin9: 'iso-8859-15',
  tis620: 'windows-874',
  iso885911: 'windows-874',
  macroman: 'macintosh',
  mac: 'macintosh',
  xmaccyrillic: 'maccyrillic',
  maccentraleurope: 'maccenteuro',
  xmacce: 'maccenteuro',
  sjis: 'shift_jis',
  cp932: 'shift_jis',
  windows31j: 'shift_jis',
  gbk: 'gb18030',
  gb2312: 'gb18030',
  cp936: 'gb18030',
  cp950: 'big5',
  big5hkscs: 'big5',
  cp949: 'euc-kr',
  windows949: 'euc-kr',
  ksc5601: 'euc-kr',
  utf16: 'utf-16le',
}

const BY_NAME: ReadonlyMap<string, Encoding> = new Map(
  ENCODINGS.map((name) => [withoutSigns(name), name]),
)

/** The encoding that a name stands for, in any case and spelling (`UTF8`, `cp1250`, `Latin-1`). */
export function encodingNamed(name: string): Encoding | undefined {
  const plain = withoutSigns(name)
  const byNumber = /^(?:cp|win|windows)(125\d|874)$/.exec(plain)?.[1]
  const dos = /^(?:cp|dos|ibm)(437|737|775|85[027]|866)$/.exec(plain)?.[1]
  return (
    BY_NAME.get(plain) ??
    (Object.hasOwn(ALIASES, plain) ? ALIASES[plain] : undefined) ??
    (byNumber === undefined ? undefined : BY_NAME.get(`windows${byNumber}`)) ??
    (dos === undefined ? undefined : BY_NAME.get(`ibm${dos}`))
  )
}

function withoutSigns(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
}
