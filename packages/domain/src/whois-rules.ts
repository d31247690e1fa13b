import type { DateOrder } from './whois-date.ts'

/** Meaning of a key. The first matching entry wins, those of a lower `rank` before the others. */
export interface FieldRule {
  readonly field: 'created' | 'expires' | 'registrar' | 'status' | 'referral' | 'domain' | 'holder'
  readonly rank: number
  /** Matches the whole key, in the form of `keyForm`. */
  readonly key: RegExp
  /** The heading it must be under. */
  readonly section?: RegExp
  readonly source: string
}

const REGISTRAR_SECTION =
  /^(?:current |sponsoring |domain )?(?:registrar|registrar information|registrar contact|registrar info)$/

/** Keys by field. Keys of dates are also recognized by their words: see `DATE_WORDS`. */
export const FIELDS: readonly FieldRule[] = [
  {
    field: 'registrar',
    rank: 0,
    key: /^(?:sponsoring )?registrar$/,
    source: 'ICANN registry agreement, specification 4',
  },
  {
    field: 'registrar',
    rank: 1,
    key: /^(?:sponsoring |current )?regist(?:ra|a)r (?:name|organi[sz]ation|company)(?: name)?$|^current regist(?:ra|a)r$/,
    source: 'auDA, HKIRC, KazNIC, CNNIC, NZRS',
  },
  {
    field: 'registrar',
    rank: 1,
    key: /^(?:organi[sz]ation(?: loc| name)?|name|registrar name|company)$/,
    section: REGISTRAR_SECTION,
    source: 'DNS Belgium, SK-NIC, Registro.it, EURid, EIS, UANIC, CIRA',
  },
  {
    field: 'registrar',
    rank: 2,
    key: /^(?:registration service provider|registrar (?:handle|id)|registered (?:through|by|via)|authori[sz]ed agency|sponsor|registrar of record|sponsoring registrar organi[sz]ation|registration agent|tech name of registrar|service provider|provider|registerar|registrador|registraire|kayit kurulusu|entidad registradora|sponsoring registrar name)$/,
    source: 'TWNIC, NORID, KISA, NIC.bo',
  },
  {
    field: 'registrar',
    rank: 2,
    key: /^(?:bureau d enregistrement|agente(?: registrador)?|entida[de]e? registradora|регистратор|реестратор|реєстратор|kayit (?:kurulusu|operatoru|firmasi)|nha dang ky|rejestrator|[注註][册冊]商|(?:所属)?注册(?:服务)?机构)$/,
    source: 'registries that answer in their own language',
  },
  {
    field: 'registrar',
    rank: 3,
    key: /^(?:created by(?: registrar)?|registrar created|regist(?:a|ra)r created|last registrar|domain registrar|sponsored by|등록대행자)$/,
    source: 'Afilias (.asia, .me), KazNIC, SIDN',
  },
  {
    field: 'status',
    rank: 0,
    key: /^(?:domain |registration |query |domain name |state |)?(?:status|state|eppstatus)(?: of domain)?$|^estado status$|^domain state$/,
    source: 'all',
  },
  {
    field: 'referral',
    rank: 0,
    key: /^registrar whois server$/,
    source: 'ICANN registry agreement, specification 4',
  },
  {
    field: 'referral',
    rank: 1,
    key: /^(?:whois server|whois|refer|referral server)$/,
    source: 'IANA, Verisign before 2017',
  },
  {
    field: 'domain',
    rank: 0,
    key: /^(?:domain(?: name)?|complete domain name|domainname|nombre de dominio|nome de dominio(?: domain name)?|nom de domaine|dominio|домен|alan adi|ten mien|域名|網域名稱|도메인이름)$/,
    source: 'all',
  },
  {
    field: 'holder',
    rank: 0,
    key: /^(?:nserver|name ?servers?|nameserver|dns|registrant(?: name| organi[sz]ation| id)?|holder|holder c|owner(?: name)?|titular|admin c|domain (?:name )?servers?|name ?server \d|name servers? in .{1,30}|primary server|registry domain id|domain id|nsl id|nsset|host ?name|ns \d)$/,
    source: 'all',
  },
  {
    field: 'created',
    rank: 0,
    key: /^(?:creat(?:ed|ion)(?: (?:on|date|time|at))?|domain creat(?:ed|e|ion)(?: (?:date|on))?|domain name commencement date|domain record activated|registered(?: (?:on|date))?|registration (?:date|time)|activation|original created)$/,
    source: 'all',
  },
  { field: 'created', rank: 3, key: /^date$/, source: 'gov.za' },
  {
    field: 'expires',
    rank: 0,
    key: /^(?:registry expir(?:y|ation) date|expir(?:y|es|e|ation|ed)(?: (?:on|date|time|at))?|domain expir(?:es|ation)(?: date)?|renewal date|paid till|valid (?:date|until|to|till)|validity)$/,
    source: 'all',
  },
]

/** Words of a key whose value is a date. Checked in this order. */
export const DATE_WORDS: readonly {
  readonly field: 'expires' | 'created' | 'other'
  readonly rank: number
  readonly key: RegExp
}[] = [
  {
    field: 'other',
    rank: 0,
    key: /updat|modif|chang|transfer|last |whois|quer|delet|quarantine|free date|available|suspend|anniversary|locked|maintained|trade|verif|a?[ck]tuali[sz]|mise a jour|guncel|измен|обновл|更新|変更|변경/,
  },
  { field: 'expires', rank: 2, key: /^registrar registration expiration/ },
  {
    field: 'expires',
    rank: 1,
    key: /expir|\bexp\b|valid(?:ity)?\b|renew|paid ?till|billed ?until|venc(?:imento|imiento|e)\b|caduc|echeance|ablauf|scadenza|verval|verloopt|giltig|voimassa|koniec|platn|lejar|bitis|het han|окончан|истека|оплачен|законч|закінч|종료|만료|到期|[过過]期|截止|有効期限/,
  },
  {
    field: 'created',
    rank: 1,
    key: /cr[ei]a[tcd]|regist(?!ra(?:r|n))|approv|commenc|activat|assigned|entered|issued?\b|fecha de alta|등록일|登録年月日|[注註][册冊]|建立|[创創]建|connected date|dateregistered|kayit tarihi|dang ky|inscri|utworz|vytvor|letrehoz|регистрац|зарегистр|создан|створен/,
  },
]

/** Sentences that contain a date. */
export const DATE_SENTENCES: readonly {
  readonly field: 'expires' | 'created'
  readonly pattern: RegExp
  readonly source: string
}[] = [
  {
    field: 'created',
    pattern:
      /^(?:record|domain|domain name)?\s*(?:was )?(?:created|registered|activated)(?: on)?[:. ]+(?=.*\d)(.+)$/i,
    source: 'TWNIC, MONIC, Island Networks',
  },
  {
    field: 'expires',
    pattern:
      /^(?:record|domain|domain name)?\s*(?:will )?(?:expires?|expired)(?: on)?[:. ]+(?=.*\d)(.+)$/i,
    source: 'TWNIC, MONIC, NIC.kg',
  },
  { field: 'created', pattern: /^changed:\s+.*\b(\d{8}) \(Assigned\)/i, source: 'ISOC-IL' },
]

/**
 * Registries that write a date of plain numbers with the month first; all others write the day
 * first. If a reply itself shows the order (a number over 12, or `DD/MM/YYYY` in its header), that
 * wins.
 */
const MONTH_FIRST: ReadonlySet<string> = new Set(['tk', 'ga', 'ml', 'cf', 'gq'])

/** The date order of a TLD. */
export function dateOrderOf(tld: string | undefined): DateOrder {
  return tld !== undefined && MONTH_FIRST.has(tld) ? 'mdy' : 'dmy'
}
