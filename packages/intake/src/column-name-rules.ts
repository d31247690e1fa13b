import type { Check } from '@plumbline/contract/products'

/** Rules for the names of a check's columns. */
interface NameRules {
  /** Words for the subject itself. */
  readonly subject: RegExp
  /** Words that mark a column as information about the subject instead of the subject itself. */
  readonly not: RegExp
  /** Confidence by pattern; the first match decides. */
  readonly ranks: readonly (readonly [RegExp, number])[]
}

/** Words of columns about a subject: flags, dates, counts, and origin. */
const ABOUT = [
  'type|typ|tipo|label|format|display|angezeigter|visualizzato|pantalla|status|statut|stato|estado|source|reason',
  'valid|invalid|validity|verified|verification|confirmed|confirmation|deliverable|deliverability|catch all',
  'verificado|verificada|confirmado|confirmada|confermata|confermato|bestatigt|bevestigd|verifie|confirme',
  'opt|opted|optin|optout|consent|permission|preference|preferences|zgoda|consentement|consentimiento|consenso',
  'subscribed|subscription|unsubscribed|unsubscribe|desabonne|abgemeldet|uitgeschreven|suppressed|suppression|suppressions',
  'disabled|enabled|active|inactive|blacklist|blacklisted|blocklisted|blocked|gesperrt|geblokkeerd|bloque|bloqueado|spam|marked',
  'count|total|num|number of|score|rating|rate|quality|confidence|result|frequency|often|engagement',
  'date|time|timestamp|datum|fecha|data|day|days|since|created|updated|changed|on|at|last sent|letzte|letzter|laatste|dernier|derniere|ultimo|ultima',
  'bounced|bounce|bounces|opened|open|opens|clicked|click|clicks|sent|send|sends|delivered|received|replied|reply',
  'is|has|do not|dnc|allowed|allow|accepts?|receives?|hash|md 5|sha 256|token|subject|template|body',
].join('|')

/**
 * Names of columns as contact exports have them: Google Contacts, Outlook (English, German, French,
 * Spanish), HubSpot, Mailchimp, Salesforce, and what people write by hand.
 */
export const NAMES: Readonly<Record<Check, NameRules>> = {
  email: {
    not: new RegExp(
      `\\b(?:${ABOUT}|domains?|name|nom|nombre|nome|naam|owner|quarantined|marketing|campaign|newsletter|last|lists?|server|host|provider|usage|messages?|notifications?|link|listid|listids|eingang|client$)\\b`,
    ),
    subject:
      /\b(?:emails?|mail|courriels?|messagerie|correos?(?: electronicos?)?|posta elettronica|epost)\b/,
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
        /^(?:correo(?: electronico)?|direccion de correo(?: electronico)?|courriel|adresse (?:de )?(?:messagerie|courriel|mail|electronique)|mailadresse|emailadresse|indirizzo (?:email|(?:di )?posta elettronica)|posta elettronica|epost(?: ?adresse)?|e post(?:adress)?|sahkoposti|endereco de email|adres email|email adres|email adresse|メール(?:アドレス)?|电子邮件|邮箱|電子メール|почта|эл почта|электронная почта)$/,
        0.95,
      ],
      [
        /^(?:(?:ال)?بريد (?:ال)?[إا]لكتروني|البريد|(?:ال)?[إا]يميل|ایمیل|پست الکترونیکی|אימייל|דוא ל|דואר אלקטרוני|이메일(?: ?주소)?|e ?メール(?:アドレス)?|メアド|电子邮箱|电邮|郵箱|電子郵件|電郵|e posta(?: adresi)?|ηλεκτρονικο ταχυδρομειο|електронна пошта|(?:ที่อยู่)?อีเมล์?|ई ?मेल(?: (?:पता|आईडी))?)$/,
        0.95,
      ],
      [/^email (?:address )?[2-9]( value| address)?$/, 0.7],
    ],
  },
  phone: {
    not: new RegExp(
      `\\b(?:${ABOUT}|fax|telefax|faxnummer|telecopie|pager|telex|isdn|tty|radio|extension|ext|country|code|carrier|owner|network|email|os|app|model|device|brand|extn|calls?)\\b`,
    ),
    subject:
      /\b(?:phones?|telephones?|telefono|telefone|telefon|tel|mobile|mobil|cell|celular|cellulare|movil|mobiel|handy|whatsapp|msisdn)\b/,
    ranks: [
      [
        /^(?:mobile|mobile no|mob|mob no|cell no|mobile phone|mobile phone number|mobile number|cell|cell phone|cell number|cellphone|msisdn|mobiltelefon|mobilnummer|handy|handynummer|handy nummer|telefono movil|movil|celular|telefone celular|telephone mobile|mobile telephone|portable|gsm|whatsapp(?: (?:number|phone number))?|sms|sms phone|sms number|text reminder number|cellulare|mobiel nummer|mobiele nummer|mobiel|tel mobile|telephone portable|telefon komorkowy)$/,
        1,
      ],
      [
        /^(?:phone|phone number|telephone|telephone number|tel|tel no|tel number|phone no|ph|ph no|contact no|primary phone|main phone|contact phone|contact number|telefon|telefonnummer|telefono|telefone|numero de telephone|numero de telefono|puhelin|telefoon|telefoonnummer|電話(?:番号)?|电话|手机(?:号码?)?|телефон|number e 164|e 164)$/,
        0.98,
      ],
      [
        /^(?:(?:رقم )?(?:ال)?(?:جوال|موبايل|محمول)|تلفن همراه|(?:شماره )?موبایل|(?:טלפון )?נייד|휴대폰(?: ?번호)?|휴대전화(?: ?번호)?|핸드폰|携帯(?:電話)?(?:番号)?|移动电话|手機(?:號碼)?|κινητο|cep (?:telefonu|tel)|telemovel|мобильныи(?: телефон)?|(?:เบอร์|หมายเลข)?(?:โทรศัพท์)?มือถือ|मोबाइल(?: (?:नंबर|नम्बर|नं|फ\u093c?ोन))?)$/,
        1,
      ],
      [
        /^(?:(?:رقم )?(?:ال)?(?:هاتف|تليفون)|(?:شماره )?تلفن|(?:מספר )?טלפון|전화(?: ?번호)?|联系电话|電話號碼|τηλεφωνο|telefon numarasi|(?:so )?đien thoai|номер телефона|(?:เบอร์|หมายเลข)?โทร(?:ศัพท์)?|เบอร์(?:ติดต่อ)?|(?:फ\u093c?ोन|दूरभाष|टेलीफ\u093c?ोन)(?: (?:नंबर|नम्बर|नं|संख्या))?|संपर्क (?:नंबर|नम्बर|नं))$/,
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
      [/^assistant.*\b(?:phone|telephone|tel)\b/, 0.3],
    ],
  },
  ip: {
    not: /\b(?:type|label|status|valid|verified|score|rating|reason|count|date|time|timestamp|is|has|hash|country|city|state|region|zip|zipcode|latitude|longitude|location|timezone|time zone|address 2|organi[sz]ation|asn|isp)\b/,
    subject: /\bip(?: v [46])?\b/,
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
    ],
  },
  domain: {
    not: new RegExp(
      `\\b(?:${ABOUT}|linkedin|facebook|twitter|instagram|youtube|xing|github|avatar|photo|image|picture|logo|authority|referrer|referring|referer|profile|landing|path|traffic|visits|views|first|last|original|analytics|page views|password)\\b`,
    ),
    subject:
      /\b(?:domains?|web ?sites?|home ?page|web ?page|webseite|site web|sitio web|pagina web)\b/,
    ranks: [
      [
        /^(?:domain|domain name|company domain|company domain name|email domains?|web domain|hostname|host name|host|fqdn|dominio|domaine|domane|domain name company)$/,
        1,
      ],
      [
        /^(?:website|web ?site|web ?site url|company site|company site url|site url|web page|webpage|website address|homepage|home page|company website|site|site web|site internet|webseite|sitio web|pagina web|sito web|web|web address|internetseite|page web|pagina da web|site internet|sito internet|webpagina|webbsida|strona internetowa|strona www|www)$/,
        0.85,
      ],
      [/^(?:website|web page|url) 1 ?(?:value)?$|^website value$/, 0.8],
      [/^(?:url|company url|user url|business home page|personal web page)$/, 0.75],
    ],
  },
}
