import type { DateOrder } from './whois-date.ts'

/** A pattern on one line of a reply, with the registries that write it. */
export interface LineRule {
  readonly pattern: RegExp
  readonly source: string
}

/**
 * Lines that say that a name is not registered. They stand alone on their line: the legal text of many
 * registries speaks of "no match" too.
 */
export const DENIALS: readonly LineRule[] = [
  {
    pattern: /^no match(?:es|ing record)?(?: (?:was )?found)?(?: for\b.{0,260}|[:.! ].{0,90})?$/i,
    source: 'Verisign, Nominet, Registro.br, NORID, IEDR, THNIC',
  },
  { pattern: /\/ no match$/i, source: 'NIC.hu' },
  {
    pattern: /^(?:\S+ )?not found[.!:]?(?: .{1,260})?$/i,
    source: 'Identity Digital, NeuStar, PIR, Afilias',
  },
  {
    pattern:
      /^(?:the )?(?:requested )?(?:domain|name|object|query)(?: name)?(?: \S{1,260})?,?(?: (?:is|was|has|does|could|can))?(?: ?not|n't)(?: yet)?(?: been| be)? (?:found|registered|exist|regist(?:ered)? ?yet|delegated)\b.{0,90}$/i,
    source: 'RSP back ends; NIC.im, KISA, AMNIC',
  },
  {
    pattern:
      /^(?:the )?(?:queried|requested) (?:object|domain) (?:does not exist|was not found|is not registered)\b/i,
    source: 'CentralNic, CoCCA, KISA',
  },
  {
    pattern: /^(?:domain )?\S+ (?:was |is |has )?(?:not been |not )(?:found|registered)\b.{0,60}$/i,
    source: 'NIC.im, NIC.sn',
  },
  {
    pattern: /^(?:domain|object|name)(?: name)? not (?:found|registered|exist)/i,
    source: 'Identity Digital, RRPproxy',
  },
  {
    pattern:
      /^(?:unfortunately, )?no (?:\w+ ){0,2}(?:records?|results?|names?) (?:was |were )?found\b/i,
    source: 'CO.PL, DotCooperation, pairNIC',
  },
  {
    pattern: /^sorry,? (?:but )?(?:the )?domain\b.{0,260}\bnot (?:found|registered)/i,
    source: 'ccTLD.UZ',
  },
  { pattern: /^\S{3,260} (?:- )?no match$/i, source: 'DNS.PT' },
  { pattern: /^not available for second level registration/i, source: 'Verisign (.name)' },
  { pattern: /^no such domain\b/i, source: 'JANET, NIC.cv' },
  { pattern: /^we do not have an entry in our database/i, source: 'SWITCH' },
  { pattern: /^not registered\b/i, source: 'IEDR, NIC.cm' },
  { pattern: /^(?:invalid query or )?domain name not known\b/i, source: 'Dot TK' },
  { pattern: /^data not found\b|^no found$/i, source: 'NIC.kg, TWNIC' },
  { pattern: /^error:\d+:? *domain is not registered/i, source: 'RNIDS' },
  {
    pattern: /^(?:the )?domain(?: name)? .{1,260} (?:is|was) not (?:registered|found)\b/i,
    source: 'registrars, NIC.fj',
  },
  { pattern: /^can(?:not|'t) get information on non-local domain/i, source: 'Tucows' },
  {
    pattern:
      /^no (?:such )?(?:data|objects?|entries|entry|information|info|records?|domains?|results?|matching \w+(?: \w+)?|matches)(?: (?:was|were|is|are|has been))?(?: ?found| available|[.!]?$)/i,
    source: 'RIPE-style servers, ISNIC, GMO, nic.mx',
  },
  { pattern: /^(?:error[: ]+)?(?:[\d:]+ ?)?no entries found/i, source: 'AFNIC, CZ.NIC, RIPN, HR' },
  { pattern: /^(?:\*+ ?)?nothing found\b/i, source: 'KazNIC, NIC.at' },
  {
    pattern:
      /^(?:domain )?(?:name )?\S{0,260} ?(?:is |are )?(?:free|available)(?: for (?:purchase|registration|sale).*| to register.*|[.!])?$/i,
    source: 'ICB registries, Uniregistry, NIC.ch',
  },
  { pattern: /^available\b/i, source: 'RyCE, NIC.aw' },
  {
    pattern: /\bdoes not exist in (?:the |our )?(?:database|registry)|\bdoes not exist!?$/i,
    source: 'Register.bg, SIDN',
  },
  {
    pattern: /\b(?:is|are) available for (?:registration|purchase)\b/i,
    source: 'Uniregistry, NIC.sh',
  },
  {
    pattern:
      /^(?:this )?domain(?: name)? (?:has not been registered|is not registered|not available in our whois)/i,
    source: 'Nominet, HKIRC, NIC.lk',
  },
  {
    pattern: /^this domain is (?:currently )?(?:not available in our whois|unregistered|free)/i,
    source: 'NIC.lk',
  },
  {
    pattern: /^(?:we )?(?:could|can|did)(?: ?not|n't) (?:be )?(?:find|found|locate)\b/i,
    source: 'united-domains, registrars',
  },
  {
    pattern: /\bis not registered(?: here| yet| in this registry)?[.!]?$/i,
    source: 'NIC.tr, DNS.lu, registrars',
  },
  {
    pattern: /^(?:the )?domain you (?:want to register|requested) is (?:available|not known)/i,
    source: 'HKIRC, CNNIC',
  },
  {
    pattern:
      /^(?:no existe|no se encontr|el dominio (?:.{1,260} )?(?:no (?:se encuentra|est[aá]|existe)|est[aá] disponible|libre))/i,
    source: 'NIC.ar, NIC.bo, NIC Chile',
  },
  { pattern: /:\s*no existe\.?$/i, source: 'NIC Chile' },
  { pattern: /\bobject[_ -]not[_ -]found\b/i, source: 'NIC México, SMALLREGISTRY' },
  {
    pattern: /^(?:\(.{1,80}\) )?\S+ (?:-|:) (?:no match|not found|available|free)$/i,
    source: 'registrars',
  },
  {
    pattern: /등록되어 있지 않|登録されていません|没有找到|not registered domain/i,
    source: 'KISA, JPRS, CNNIC',
  },
  { pattern: /^query_status: 220 available/i, source: 'NZRS' },
]

/** Values of a status that say the same. */
export const FREE_STATUS =
  /^(?:220 )?(?:free|available|not registered|unassigned|no object found|not found|unregistered|no match|not assigned|invalid|deleted|not exist|510 )\b/i

/** Values of a status of a name that the registry keeps: nobody can register it. */
export const RESERVED =
  /\b(?:reserved (?:by|name|domain)|restricted from registration|can ?not be registered|not allowed by the policy|registration (?:is )?(?:prohibited|not allowed)|prohibited string)\b|^(?:reserved|blocked|restricted)\.?$/i

/** Lines of a server that refuses or limits the asker, never a word about the name. */
export const REFUSALS: readonly LineRule[] = [
  {
    pattern:
      /\bmaximum (?:number of )?(?:queries|requests|lookups|connections|query)\b.{0,40}\b(?:reached|exceeded)\b/i,
    source: 'DNS Belgium, RESTENA',
  },
  {
    pattern: /\b(?:limit|quota|rate)s?\b.{0,40}\b(?:exceeded|reached|hit)\b/i,
    source: 'PIR, DNS.pe, Afilias, Nominet',
  },
  {
    pattern:
      /\b(?:exceeded|reached|over)\b.{0,60}\b(?:limit|quota|number of (?:queries|requests|lookups)|rate|allowance)/i,
    source: 'MarkMonitor, DNS Belgium, DENIC, auDA, CNNIC',
  },
  {
    pattern:
      /^(?:error[: ]+)?(?:\d+[: ]+)?too many (?:requests|queries|connections|lookups|simultaneous)\b/i,
    source: 'AFNIC, Tucows',
  },
  {
    pattern: /\btry again (?:later|in|after)\b|\bplease (?:try|retry)(?: again| later)/i,
    source: 'SIDN, Freenom',
  },
  {
    pattern:
      /\b(?:access|request|query|connection|lookup) (?:has been |is |was )?(?:denied|refused|blocked|rejected|restricted|throttled)\b/i,
    source: 'NZRS, DENIC, LACNIC',
  },
  {
    pattern:
      /\b(?:your|this) (?:ip|address|host|access|client).{0,60}\b(?:blocked|blacklisted|banned|restricted|denied|not authori[sz]ed)\b/i,
    source: 'registrars, CIRA, RIPN',
  },
  {
    pattern:
      /\b(?:server|service|system) (?:is )?(?:too busy|busy|(?:temporarily )?unavailable|overload)/i,
    source: 'SIDN',
  },
  {
    pattern:
      /\bcan temporarily not be answered\b|\btemporarily (?:unavailable|disabled|blocked)\b/i,
    source: 'Freenom',
  },
  {
    pattern:
      /\bmaintain at least \d+.?seconds?\b|\b(?:wait|only \d+).{0,40}(?:second|minute|per second)/i,
    source: 'HKIRC, SIDN',
  },
  {
    pattern:
      /\b(?:queries|requests|lookups|connections) exceeded\b|\bquer(?:y|ied) interval is too short|\baccess is too fast/i,
    source: 'CNNIC, HKIRC, IIS',
  },
  {
    pattern:
      /\brequests of this client are not permitted\b|^permission denied\b|\blookup refused\b/i,
    source: 'SWITCH, Registro.br, SGNIC',
  },
  {
    pattern:
      /\bexcessive (?:querying|queries|access)\b|\bquer(?:y|ies) too (?:fast|often|frequent)/i,
    source: 'DNS Belgium, EURid',
  },
  {
    pattern: /^-?55\d{9}:|^%?error:55000000002|\bconnection refused; access control limit/i,
    source: 'DENIC',
  },
  {
    pattern:
      /\bunable to (?:process|complete|connect)\b.{0,60}\b(?:request|query|lookup|database|time)\b/i,
    source: 'registrars',
  },
  { pattern: /\bip address used to perform this query is not authori[sz]ed\b/i, source: 'Red.es' },
]

/** What a key says. The first fitting entry wins, those of a lower `rank` before the others. */
export interface FieldRule {
  readonly field: 'created' | 'expires' | 'registrar' | 'status' | 'referral' | 'domain' | 'holder'
  readonly rank: number
  /** Whole key, in the form of `keyForm`. */
  readonly key: RegExp
  /** The heading it must stand under. */
  readonly section?: RegExp
  readonly source: string
}

const REGISTRAR_SECTION =
  /^(?:current |sponsoring |domain )?(?:registrar|registrar information|registrar contact|registrar info)$/

/** Keys by field. Dates besides are known by the words of their key: see `DATE_WORDS`. */
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
    key: /^(?:sponsoring |current )?regist(?:ra|a)r (?:name|organi[sz]ation|company)$|^current regist(?:ra|a)r$/,
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
    key: /^(?:registration service provider|registrar (?:handle|id)|registered (?:through|by|via)|authori[sz]ed agency|sponsor|registrar of record|sponsoring registrar organi[sz]ation|registration agent|tech name of registrar|service provider|provider|registerar|registrador|registraire|kayit kurulusu|entidad registradora|注册商|sponsoring registrar name)$/,
    source: 'TWNIC, NORID, KISA, NIC.bo',
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
    key: /^(?:domain(?: name)?|complete domain name|domainname|nombre de dominio|nome de dom[ií]nio domain name|도메인이름)$/,
    source: 'all',
  },
  {
    field: 'holder',
    rank: 0,
    key: /^(?:nserver|name ?servers?|nameserver|dns|registrant(?: name| organi[sz]ation| id)?|holder|holder c|owner|titular|admin c|registry domain id|domain id|nsl id|nsset|host ?name|ns \d)$/,
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
    key: /updat|modif|chang|transfer|last |whois|quer|delet|quarantine|free date|available|suspend|anniversary|locked|maintained|trade|verif/,
  },
  { field: 'expires', rank: 2, key: /^registrar registration expiration/ },
  {
    field: 'expires',
    rank: 1,
    key: /expir|\bexp\b|valid(?:ity)?\b|renew|paid ?till|billed ?until|vencimiento|expira|ablauf|scadenza|종료|到期|有効期限|bitis|valable/,
  },
  {
    field: 'created',
    rank: 1,
    key: /creat|regist(?!ra(?:r|n))|approv|commenc|activat|assigned|entered|creaci|criad|등록일|登録年月日|注册|connected date|dateregistered|kayit tarihi|inscri/,
  },
]

/** Sentences that hold a date. */
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
 * Registries that write a date of plain numbers with the month first. Every other writes the day first.
 * Where a reply itself settles the order (a number over 12, or `DD/MM/YYYY` in its head), that wins.
 */
const MONTH_FIRST: ReadonlySet<string> = new Set(['tk', 'ga', 'ml', 'cf', 'gq'])

/** The order of one zone. */
export function dateOrderOf(tld: string | undefined): DateOrder {
  return tld !== undefined && MONTH_FIRST.has(tld) ? 'mdy' : 'dmy'
}
