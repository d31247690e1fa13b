/** A pattern for one line of a reply, with the registries that use it. */
export interface LineRule {
  readonly pattern: RegExp
  readonly source: string
}

/**
 * Lines that say that a name is not registered. They must match a whole line, since the legal text
 * of many registries contains "no match" too.
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
  { pattern: /^not available for (?:second level )?registration\b/i, source: 'Verisign (.name)' },
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
      /^(?!.*\bnot\b)(?:domain )?(?:name )?\S{0,260} ?(?:is |are )?(?:free|available)(?: for (?:purchase|registration|sale).*| to register.*|[.!])?$/i,
    source: 'ICB registries, Uniregistry, NIC.ch',
  },
  { pattern: /^available[.!]?$/i, source: 'RyCE, NIC.aw' },
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
  {
    pattern:
      /^(?:the |this )?(?:domain |name |object )*["'[(]?[^\s"'.]+(?:\.[^\s"'.]+)+\.?["'\])]?[,:]? (?:is |was |has |are )?(?:currently )?(?:not |un)(?:been |yet )*(?:found|registe?red|exist\w*|delegated|assigned|known)\b.{0,90}$/i,
    source: 'NIC.ai, and in the words of any: the name, then that it is not',
  },
  {
    pattern:
      /^(?:the |this |that )(?:requested |queried )?(?:domain|name)(?: name)?(?: [^\s.]+(?:\.[^\s.]+)+\.?)? is (?:currently |still )?(?:free|available|vacant|unregistered|unassigned)\b.{0,90}$/i,
    source: 'in the words of any: this domain is available',
  },
  {
    pattern:
      /^no (?:\w+ ){0,2}(?:records?|entr(?:y|ies)|objects?|data|domains?|results?|match(?:es)?|information)\b.{0,120}\b(?:found|exists?|returned|in (?:the |our )?database)\b.{0,60}$/i,
    source: 'NIC.bj, NIC.tj, and in the words of any: none of it was found',
  },
  {
    pattern: /^no (?:whois|domain|registration) (?:data|record|information|entry)\b.{0,90}$/i,
    source: 'in the words of any: no data',
  },
  {
    pattern:
      /^(?:this |your |the )?(?:query|search|lookup) (?:has )?(?:returned|yielded|gave) (?:0|no|zero) (?:objects?|results?|records?|match)/i,
    source: 'IANA',
  },
  {
    pattern: /^(?:0|zero) (?:objects?|results?|records?|match(?:es)?)\b/i,
    source: 'servers by IANA’s code',
  },
  {
    pattern:
      /^there (?:is|are|was|were) no (?:\w+ )?(?:records?|entr(?:y|ies)|data|domains?|information|match(?:es)?|results?)\b/i,
    source: 'in the words of any: there is no record',
  },
  {
    pattern:
      /^(?:we )?(?:were |was )?(?:unable|not able) to (?:find|locate)\b|^can(?:not|'t) (?:find|locate)\b/i,
    source: 'in the words of any: it cannot be found',
  },
  {
    pattern:
      /^(?:the )?domain(?: name)? you .{1,60} (?:has not been|is not|was not) (?:found|registered)\b/i,
    source: 'in the words of any: the domain you asked for',
  },
  {
    pattern:
      /^(?:domain )?[^\s.]+(?:\.[^\s.]+)+\.? (?:has )?no (?:records?|entr(?:y|ies)|data|match)\b.{0,60}$/i,
    source: 'in the words of any: the name has no record',
  },
  {
    pattern:
      /^unknown (?:domain|name|object)\b.{0,90}$|^(?:domain|name)(?: name)? (?:is )?unknown\b/i,
    source: 'in the words of any: unknown domain',
  },
  {
    pattern:
      /^not[ _]?(?:found|exist\w*|registe?red|delegated|in (?:use|(?:our |the )?database))\b.{0,60}$/i,
    source: 'GRENA, CoCCA, in the words of any: not found',
  },
  {
    pattern:
      /\b(?:dom[ií]n[ií]o|objeto|registro|nombre)s?\b.{0,260}\bn(?:o|ão|ao) (?:se (?:encuentra|encontr[oó]|ha encontrado)|existe|encontrado|registrado|est[aá] registrado|h[aá])|\bdom[ií]n[ií]o\b.{0,260}\b(?:libre|disponible|livre|dispon[ií]vel)\b|^(?:sin|ning[uú]n) (?:resultado|registro)s?\b/i,
    source: 'registries that answer in Spanish or Portuguese',
  },
  {
    pattern:
      /\b(?:domaine|objet|enregistrement|nom)s?\b.{0,260}\b(?:non trouv|introuvable|inconnu|n['’]existe pas|n['’]est pas enregistr|(?:est )?(?:libre|disponible)\b)|^aucune? (?:enregistrement|objet|domaine|donn[eé]e|r[eé]sultat|correspondance)/i,
    source: 'registries that answer in French',
  },
  {
    pattern:
      /\b(?:dominio|oggetto)\b.{0,260}\b(?:non (?:trovato|registrato|esiste)|disponibile)\b|^nessun\w* (?:dato|risultato|oggetto|dominio|corrispondenza)\b/i,
    source: 'registries that answer in Italian',
  },
  {
    pattern:
      /\b(?:domain|domein|eintrag|objekt)\w{0,12}\b.{0,260}\b(?:nicht (?:gefunden|registriert|vergeben|vorhanden)|niet (?:gevonden|geregistreerd)|ist frei|is vrij|verf[uü]gbar|beschikbaar)\b|^keine?n? (?:eintrag|eintr[aä]ge|domain|daten|treffer|objekt)/i,
    source: 'registries that answer in German or Dutch',
  },
  {
    pattern:
      /(?:домен|об[ъ'’]?[єе]кт|им[яе]|запис)\p{L}{0,12}.{0,260}(?:не (?:найден|зарегистрирован|существует|занят|знайден|зареєстрован|існує|е регистриран|съществува)|свобод[ея]н|вільн)|^(?:записей|записи|ничего|нічого) не /iu,
    source: 'registries that answer in Russian, Ukrainian or Bulgarian',
  },
  {
    pattern:
      /\bnie (?:znaleziono|istnieje|jest zarejestrowana)\b|\bdomena\b.{0,260}\b(?:wolna|dost[eę]pna|nenalezena|voln[aá]|slobodna|nije registri?rana|ni registrirana)\b|\b(?:nenalezen|nen[aá]jden|nebyl[aoy]? nalezen)|nincs tal[aá]lat/iu,
    source: 'registries that answer in Polish, Czech, Slovak, Slovene, Croatian or Hungarian',
  },
  {
    pattern:
      /\bbulunamad[ıi]|kay[ıi]tl[ıi] de[gğ]il|\btidak (?:ditemukan|terdaftar)\b|không tồn tại|chưa được đăng ký|ไม่พบ/iu,
    source: 'registries that answer in Turkish, Indonesian, Vietnamese or Thai',
  },
  {
    pattern:
      /未(?:找到|被?[注註][册冊])|[没沒]有(?:找到|相[符关關])|查[无無]|不存在|見つかりません|該当.{0,20}(?:ありません|なし)|찾을 수 없|결과가 없/u,
    source: 'registries that answer in Chinese, Japanese or Korean',
  },
]

/** Lines that deny something else than the name: a host, a page, a person. */
export const OF_ANOTHER =
  /^(?:http\/\d|\d{3} not found$)|^(?:the )?(?:name ?servers?|hosts?|servers?|services?|pages?|files?|urls?|commands?|registrars?|contacts?|persons?|handles?|routes?|tlds?)\b|\b(?:find|locate|matching|such)\b.{0,30}\b(?:hosts?|servers?|services?|pages?|files?)\b/i

/** Start of an HTML page sent by a host that is no WHOIS server. */
export const PAGE = /^\s*(?:HTTP\/\d|<!doctype html|<html)/i

/** Status values of a name that is not registered. */
export const FREE_STATUS =
  /^(?:220 )?(?:free|available|not registered|unassigned|no object found|not found|unregistered|no match|not assigned|invalid|deleted|not exist|510 )\b/i

/** Status values of a name that the registry reserves: nobody can register it. */
export const RESERVED =
  /\b(?:reserved (?:by|name|domain)|restricted from registration|can ?not be registered|not allowed by the policy|registration (?:is )?(?:prohibited|not allowed)|prohibited string)\b|^(?:reserved|blocked|restricted|unassignable|not allowed)\.?$/i

/** Lines of a server that limits or refuses us, which say nothing about the name. */
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
    pattern: /\btry again (?:later|in|after)\b|\bplease (?:try (?:again|later)|retry)\b/i,
    source: 'SIDN, Freenom',
  },
  {
    pattern:
      /\b(?:access|request|query|connection|lookup) (?:has been |is |was )?(?:denied|refused|blocked|rejected|restricted|throttled)\b(?! (?:to|by)\b)/i,
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
      /\b(?:queries|requests|lookups|connections) exceeded\b|\bquer(?:y|ied) interval (?:is )?too short|\baccess is too fast/i,
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
  {
    pattern:
      /^(?:sorry|denied|refused|rejected)?,? ?too many (?:requests|queries|connections?|lookups|attempts)\b/i,
    source: 'in the words of any: too many of them',
  },
  {
    pattern:
      /\b(?:you|your (?:ip|address|host|network|request)|this (?:ip|address|client)) (?:have been|has been|is|are)(?: being| temporarily| currently)* (?:rate[- ]limited|banned|blocked|black ?listed|throttled|suspended)\b|^black ?listed\b.{0,5}\d|^(?:request |query )?rate[- ]limited\b/i,
    source: 'in the words of any: banned, limited',
  },
  {
    pattern:
      /^please (?:slow down|wait)\b|^you are (?:querying|asking|sending)\b.{0,40}\btoo (?:fast|often|quickly|frequently|many)\b/i,
    source: 'in the words of any: slow down',
  },
  {
    pattern:
      /\b(?:reached|exceeded)\b.{0,30}\bmax(?:imum)?\b.{0,40}\b(?:lookups|queries|requests|connections)\b|\bmax(?:imum)? (?:connections|queries|requests|lookups)\b.{0,40}\b(?:reached|exceeded)\b|\b(?:queries|requests|lookups) per (?:second|minute|hour|day) exceeded\b/i,
    source: 'in the words of any: the most is reached',
  },
  {
    pattern:
      /^(?:the )?(?:server|service|we) (?:can(?:not|'t)|could not|is unable to|are unable to) (?:process|serve|answer|handle)\b|^unable to serve\b/i,
    source: 'in the words of any: no answer now',
  },
  {
    pattern:
      /^access (?:to .{1,60} )?(?:has been |is |was )?(?:blocked|denied|refused)\b|^(?:refused|forbidden|denied|abuse detected)[.!]?$/i,
    source: 'in the words of any: access denied',
  },
  {
    pattern: /\b(?:not|no longer) (?:allowed|permitted) to (?:connect|query|access)\b/i,
    source: 'RIPN, in the words of any: not allowed to connect',
  },
  {
    pattern:
      /\b(?:ha|has) (?:excedido|superado)\b|\b(?:excedeu|ultrapassou)\b|\bdemasiad[ao]s (?:consultas|peticiones|conexiones|solicitudes)\b|\bmuitas consultas\b|\b(?:l[ií]mite|cuota|cota|quota)\b.{0,60}\b(?:exced|super|alcanz|atingid|d[eé]pass|atteint)|\btrop de (?:requ[eê]tes|connexions|demandes)\b|\btroppe (?:richieste|connessioni)\b|\bzu viele (?:anfragen|abfragen|verbindungen)\b|\b(?:limit|kontingent)\b.{0,60}(?:überschritten|erreicht|ausgeschöpft)|слишком много (?:запросов|соединений)|превышен|查询过于频繁|超过.{0,20}限制/iu,
    source: 'registries that refuse in their own language',
  },
]
