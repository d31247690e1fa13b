import { CHECKS, type Check } from '@plumbline/contract/products'

/** How well a column name says that a column holds subjects of a check: 0 (not) to 1 (surely). */
export function nameScore(check: Check, name: string): number {
  const words = wordsOf(name)
  if (words === '') return 0
  const rules = NAMES[check]
  const score = rules.ranks.find(([pattern]) => pattern.test(words))?.[1] ?? 0
  // Whole names stand above the words that speak against a part of one: "email id".
  return score < WHOLE_NAME && rules.not.test(words) ? 0 : score
}

const WHOLE_NAME = 0.7

/** Whether a name is one that columns of contact lists have. */
export function isKnownName(name: string): boolean {
  const words = wordsOf(name)
  if (words === '') return false
  return OTHER_NAMES.test(words) || CHECKS.some((check) => nameScore(check, name) >= 0.5)
}

/** Lower-case words without marks: `E-mail 1 - Value` and `email1Value` become `email 1 value`. */
export function wordsOf(name: string): string {
  return name
    .slice(0, 120)
    .normalize('NFKD')
    .replaceAll(/[\u0300-\u036f]/g, '')
    .normalize('NFC')
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, ' ')
    .replaceAll(/(\p{L})(\d)/gu, '$1 $2')
    .trim()
    .replaceAll(/\be mail(s?)\b/g, 'email$1')
}

interface NameRules {
  /** Words that make a column one about the subject instead of the subject itself. */
  readonly not: RegExp
  /** The first pattern that fits decides. */
  readonly ranks: readonly (readonly [RegExp, number])[]
}

const ABOUT =
  'type|label|status|valid|verified|opt|opted|optin|optout|consent|permission|preference|subscribed|unsubscribed|count|score|rating|source|date|time|timestamp|created|updated|changed|last sent|id|format|reason|bounced|bounce|opened|clicked|sent|replied|frequency|subject|template|body|display|is|has|do not|dnc|allowed|allow|quality|confidence|result|hash|md 5|sha 256'

/**
 * Names of columns as contact exports have them: Google Contacts, Outlook (English, German, French, Spanish),
 * HubSpot, Mailchimp, Salesforce, and what people write by hand.
 */
const NAMES: Readonly<Record<Check, NameRules>> = {
  email: {
    not: new RegExp(
      `\\b(?:${ABOUT}|domain|name|owner|quarantined|marketing|campaign|newsletter|receives?|accepts?|list|server|host)\\b`,
    ),
    ranks: [
      [
        /^(?:email|email address|email adresse|mail|mail address|adresse email|primary email|main email|email primary|contact email|user email|customer email|subscriber email|email id|emails)$/,
        1,
      ],
      [/^email 1 (?:value|address)$|^email(?: address)? 1$|^email value$/, 0.98],
      [
        /^(?:work|business|company|personal|home|private|professional|office) email(?: address)?$/,
        0.9,
      ],
      [
        /^(?:correo(?: electronico)?|direccion de correo(?: electronico)?|courriel|adresse (?:de )?(?:messagerie|courriel|mail|electronique)|mailadresse|emailadresse|indirizzo (?:email|di posta elettronica)|posta elettronica|epost(?: ?adresse)?|e post(?:adress)?|sahkoposti|endereco de email|adres email|メール(?:アドレス)?|电子邮件|邮箱|電子メール|почта|эл почта|электронная почта)$/,
        0.95,
      ],
      [/^email (?:address )?[2-9]( value| address)?$/, 0.7],
      [/\bemails?\b|\bcourriel\b|\bcorreo\b/, 0.65],
      [/\bmail\b/, 0.5],
    ],
  },
  phone: {
    not: new RegExp(
      `\\b(?:${ABOUT}|fax|telefax|faxnummer|pager|telex|isdn|tty|radio|extension|ext|country|code|carrier|owner|network|email|os|app|model|device|brand)\\b`,
    ),
    ranks: [
      [
        /^(?:mobile|mobile no|mob|mob no|cell no|mobile phone|mobile phone number|mobile number|cell|cell phone|cell number|cellphone|msisdn|mobiltelefon|mobilnummer|handy|handynummer|handy nummer|telefono movil|movil|celular|telefone celular|telephone mobile|mobile telephone|portable|gsm|whatsapp(?: (?:number|phone number))?|sms|sms phone|sms number)$/,
        1,
      ],
      [
        /^(?:phone|phone number|telephone|telephone number|tel|tel no|tel number|phone no|ph|ph no|contact no|primary phone|main phone|contact phone|contact number|telefon|telefonnummer|telefono|telefone|numero de telephone|numero de telefono|puhelin|telefoon|telefoonnummer|電話(?:番号)?|电话|手机(?:号码?)?|телефон|number e 164|e 164)$/,
        0.98,
      ],
      [/^phone 1 (?:value|number)$|^(?:phone|telephone|tel)(?: number)? 1$|^phone value$/, 0.97],
      [
        /^(?:home|business|work|office|personal|private|daytime|evening) (?:phone|telephone|mobile|tel)(?: number)?$|^telefon (?:geschaftlich|privat)$|^telephone (?:bureau|domicile)$|^telefono (?:del trabajo|particular)$/,
        0.85,
      ],
      [/^phone (?:number )?[2-9]( value| number)?$/, 0.7],
      [
        /^(?:other|secondary|company main|company|home|business|callback|car|alternate)\b.*\b(?:phone|telephone|tel)\b/,
        0.6,
      ],
      [/\bassistant/, 0.3],
      [/\b(?:phone|telephone|mobile|cell|telefon|telefono|whatsapp|msisdn)\b/, 0.65],
    ],
  },
  ip: {
    not: new RegExp(
      `\\b(?:${ABOUT.replace('optin|', '').replace('opt|', '').replace('created|', '').replace('updated|', '').replace('last sent|', '')}|country|city|state|region|zip|zipcode|latitude|longitude|location|timezone|time zone|address 2|organi[sz]ation|asn|isp)\\b`,
    ),
    ranks: [
      [
        /^(?:ip|ip address|ip addr|ip adresse|adresse ip|direccion ip|indirizzo ip|client ip|remote ip|remote addr|user ip|ipv [46](?: address)?|ip v [46]|ip 4|ip 6)$/,
        1,
      ],
      [
        /^(?:confirm|confirmation|signup|sign up|registration|register|login|last login|order|session|source|customer|visitor|x forwarded for) ip(?: address)?$/,
        0.9,
      ],
      [/^(?:optin|opt in|last|first|created|updated) ip(?: address)?$/, 0.85],
      [/\bip\b/, 0.6],
    ],
  },
  domain: {
    not: new RegExp(
      `\\b(?:${ABOUT}|linkedin|facebook|twitter|instagram|youtube|xing|github|avatar|photo|image|picture|logo|authority|referrer|referring|referer|profile|landing|path|traffic|visits|views|first|last|original|analytics|page views|password)\\b`,
    ),
    ranks: [
      [
        /^(?:domain|domain name|company domain|company domain name|email domain|web domain|hostname|host name|host|fqdn|dominio|domaine|domane|domain name company)$/,
        1,
      ],
      [
        /^(?:website|web site|website url|web page|webpage|website address|homepage|home page|company website|site|site web|site internet|webseite|sitio web|pagina web|sito web|web|web address|internetseite)$/,
        0.85,
      ],
      [/^(?:website|web page|url) 1 ?(?:value)?$|^website value$/, 0.8],
      [/^(?:url|company url|business home page|personal web page)$/, 0.75],
      [/\bdomain\b/, 0.65],
      [/\b(?:website|homepage)\b/, 0.6],
    ],
  },
}

/** Names that tell a header line, though no check reads their columns. */
const OTHER_NAMES =
  /^(?:(?:first|last|full|middle|given|family|sur|company|user|display|nick|sur)? ?name|surname|lastname|firstname|forename|nachname|vorname|nom|prenom|nombre|apellidos?|cognome|title|salutation|anrede|suffix|company|firma|organi[sz]ation(?: name)?|account(?: name)?|job title|position|department|street(?: address)?|address(?: line)? ?[12]?|city|stadt|ville|ciudad|state|region|county|zip|zip ?code|postal ?code|plz|country(?: code| region)?|land|pays|pais|id|uuid|record id|contact id|lead id|customer id|external id|ref|reference|notes?|comments?|description|tags?|labels?|group membership|birthday|date|created|created at|created date|updated at|last modified|gender|sex|language|locale|timezone|latitude|longitude|status|source|type|category|value|key|amount|price|quantity|score|age|member rating|leid|euid)$/
