import type { ReplyRule } from './reply-rule.ts'

/** Words of refusals in one language: regular expressions over lower-case text without accents. */
export interface Language {
  /** A user, recipient, address or mailbox. */
  readonly who: readonly string[]
  readonly missing: readonly string[]
  /** That a mailbox or quota is full. */
  readonly full: readonly string[]
  /** The sender, or the connecting host. */
  readonly sender: readonly string[]
  /** Replies that contain these words. */
  readonly seen: readonly string[]
}

/**
 * Words of servers that reply in other languages than English: for an unknown recipient, a full
 * mailbox, and a refused sender.
 */
// oxfmt-ignore
export const LANGUAGES: Readonly<Record<string, Language>> = {
  german: {
    who: [
      'empfanger', 'empfaenger', 'benutzer', 'nutzer', 'adressat', 'adresse', 'postfach', 'mailbox',
      'konto', 'anwender',
    ],
    missing: [
      'unbekannt', 'existiert nicht',
      'nicht (?:gefunden|vorhanden|bekannt|existent|gultig|gueltig|zustellbar)', 'ungultig',
      'ungueltig', 'gibt es nicht', 'kein gultige',
      'keine?[nmr]? (?:solche|derartige|entsprechende)',
    ],
    full: [
      '(?:postfach|mailbox|speicher|kontingent|quota)[^.;]{0,40}(?:\\bvoll\\b|uberschritten|ueberschritten|erschopft|uberfullt)',
    ],
    sender: ['absender', '\\bihre? (?:ip|server|mailserver|domain|rechner)'],
    seen: ['Absenderadresse unbekannt', 'Das Postfach ist voll', 'Benutzer unbekannt'],
  },
  french: {
    who: ['destinataire', 'utilisateur', 'adresse', 'boite', 'compte'],
    missing: [
      'inconnue?', 'n.?existe (?:pas|plus)', 'introuvable', 'inexistante?', 'non trouvee?',
      'n.est (?:pas|plus) valide', 'invalide',
      'pas (?:d.|de |d.une )(?=utilisateur|boite|compte|destinataire|adresse)', 'n.a pas de',
    ],
    full: ['(?:boite|quota|espace|messagerie)[^.;]{0,50}(?:pleine?|depasse|sature|atteint)'],
    sender: ['expediteur', 'emetteur', '\\bvotre (?:adresse ip|ip|serveur|domaine)', 'adresse ip'],
    seen: [
      "L'adresse de l'expéditeur est inconnue",
      '5.1.1 Boite du destinataire pleine. Recipient overquota. OFR_417 [417]',
      "Cette boîte n'existe pas", '550 Utilisateur inconnu !',
    ],
  },
  spanish: {
    who: ['destinatari[oa]', 'usuari[oa]', 'buzon', 'cuenta', 'direccion', 'casilla'],
    missing: [
      'desconocid[oa]',
      'no (?:existe|encontrad[oa]|se encuentra|fue encontrad[oa]|(?:es )?valid[oa])', 'inexistente',
      'invalid[oa]',
    ],
    full: [
      '(?:buzon|casilla|cuota|cuenta)[^.;]{0,40}(?:llen[oa]|excedid[oa]|superad[oa]|agotad[oa])',
    ],
    sender: ['remitente', '\\bsu (?:ip|servidor|dominio|direccion ip)'],
    seen: ['Remitente desconocido', 'El buzón no existe', 'Usuario Desconocido'],
  },
  portuguese: {
    who: ['destinatari[oa]', 'usuari[oa]', 'utilizador', 'caixa', 'conta', 'endereco'],
    missing: [
      'desconhecid[oa]', 'inexistente',
      'nao (?:existe|encontrad[oa]|foi encontrad[oa]|localizad[oa]|cadastrad[oa])', 'invalid[oa]',
    ],
    full: ['(?:caixa|cota|quota|conta)[^.;]{0,40}(?:chei[oa]|lotad[oa]|excedid[oa])'],
    sender: ['remetente', '\\bseu (?:ip|servidor|dominio)'],
    seen: ['Caixa postal cheia'],
  },
  italian: {
    who: ['destinatari[oa]', 'utente', 'casella', 'indirizzo', 'account'],
    missing: [
      'sconosciut[oa]', 'inesistente',
      'non (?:esiste|trovat[oa]|e stat[oa] trovat[oa]|valid[oa]|presente)', 'nessun(?= utente)',
    ],
    full: ['(?:casella|quota|spazio)[^.;]{0,40}(?:pien[oa]|superat[oa]|esaurit[oa])'],
    sender: ['mittente', '\\b(?:tuo|vostro|suo) (?:ip|server|dominio)'],
    seen: ['Utente inesistente', 'Nessun utente simile in questo indirizzo'],
  },
  dutch: {
    who: ['gebruiker', 'ontvanger', 'geadresseerde', 'mailbox', 'postbus', 'adres'],
    missing: ['onbekend', 'bestaat niet', 'niet (?:gevonden|bekend)', 'ongeldig'],
    full: ['(?:mailbox|postbus|quotum)[^.;]{0,40}(?:\\bvol\\b|overschreden)'],
    sender: ['afzender', '\\buw (?:ip|server|domein)'],
    seen: ['Gebruiker onbekend'],
  },
  nordic: {
    who: [
      'anvandare', 'mottagare', 'brukere?n?', 'mottakere?n?', 'bruger', 'modtager', 'postlada',
      'adresse?n?', 'kayttajaa?', 'vastaanottajaa?', 'osoitetta', 'osoite',
    ],
    missing: [
      'okand', 'ukjent', 'ukendt', 'finns (?:inte|ej)', 'finnes ikke', 'findes ikke',
      'eksisterer ikke', 'existerar inte', 'hittades inte', 'tuntematon',
      'ei (?:ole olemassa|loydy)',
    ],
    full: [
      '(?:postlada|postboks|mailbox|postilaatikko)[^.;]{0,40}(?:\\bfull\\b|fylt|fyldt|fuld|taynna)',
    ],
    sender: ['avsandare', 'avsender', 'afsender', 'lahettaja'],
    seen: [
      '552 5.2.2 <mailboxfull@libsisimai.net>: Recipient address rejected: Mailbox full',
      'Okänd mottagare',
    ],
  },
  polish: {
    who: ['uzytkownik', 'odbiorc', 'adresat', 'adres', 'skrzynk', 'kont[oa]\\b'],
    missing: [
      'nie (?:istnieje|znaleziono|ma takiego|ma takiej|zostal znaleziony)', 'nieznan',
      'nieprawidlow', 'brak takie',
    ],
    full: ['(?:skrzynk|kont|limit)[^.;]{0,40}(?:przepelnion|peln[ay]|przekroczon)'],
    sender: ['nadawc', '\\btwoj(?:e|ego)? (?:ip|serwer|adres ip)'],
    seen: ['Skrzynka jest przepełniona', '550 Adresat nieznany'],
  },
  czech: {
    who: ['uzivatel', 'prijemce', 'prijemca', 'adresat', 'adresa', 'schranka', 'ucet'],
    missing: ['neexistuje', 'neznam', 'nenalezen', 'nebyl nalezen', 'neplatn'],
    full: ['(?:schranka|kvota|limit)[^.;]{0,40}(?:pln[ay]|prekrocen)'],
    sender: ['odesilatel', 'odesilatel', 'odosielatel'],
    seen: ['Uživatel neexistuje'],
  },
  hungarian: {
    who: ['cimzett', 'felhasznalo', 'postafiok', 'postalada'],
    missing: ['ismeretlen', 'nem (?:letezik|talalhato)'],
    full: ['(?:postafiok|postalada|kvota)[^.;]{0,40}(?:megtelt|tele\\b|tullep)'],
    sender: ['felado', 'kuldo'],
    seen: ['Ismeretlen címzett'],
  },
  romanian: {
    who: ['utilizator', 'destinatar', 'casut', 'adres'],
    missing: ['necunoscut', 'inexistent', 'nu (?:exista|a fost gasit)'],
    full: ['(?:casut|spatiu|cota)[^.;]{0,40}(?:plin|depasit)'],
    sender: ['expeditor'],
    seen: ['Utilizator necunoscut'],
  },
  turkish: {
    who: ['kullanici', 'alici', 'posta kutusu', 'hesap', 'adres'],
    missing: ['bulunamadi', 'bilinmeyen', '\\byok\\b', 'mevcut degil', 'gecersiz'],
    full: ['(?:posta kutusu|kota)[^.;]{0,40}(?:dolu|asildi)'],
    sender: ['gonderen', 'gonderici'],
    seen: ['Kullanıcı bulunamadı'],
  },
  russian: {
    who: [
      'пользовател', 'получател', 'адресат', 'ящик', 'адрес', 'учетная запись', 'учетной записи',
      'користувач', 'одержувач', 'скриньк',
    ],
    missing: [
      'не (?:наиден|существует|зареги|знаидено|існує)', 'неизвест', 'несуществ', 'нет такого',
      'такого(?= \\S{1,20} нет)', 'отсутствует', 'невідом',
    ],
    full: ['(?:ящик|квот|скриньк)[^.;]{0,40}(?:переполнен|превышен|заполнен|переповнен)'],
    sender: ['отправител', 'ваш (?:ip|сервер|адрес|домен)', 'відправник'],
    seen: ['Отправитель не существует', 'Пользователь не найден'],
  },
  greek: {
    who: ['χρηστη', 'παραληπτη', 'διευθυνση', 'γραμματοκιβωτιο'],
    missing: ['αγνωστο', 'δεν (?:υπαρχει|βρεθηκε)'],
    full: ['(?:γραμματοκιβωτιο|οριο)[^.;]{0,40}(?:γεματο|υπερβαση)'],
    sender: ['αποστολεα'],
    seen: ['Χρήστης άγνωστος'],
  },
  chinese: {
    who: ['用户', '用戶', '收件人', '收信人', '邮箱', '郵箱', '信箱', '账号', '帐号', '帳號', '账户', '地址', '使用者'],
    missing: ['不存在', '未找到', '没有找到', '沒有找到', '找不到', '无此', '無此', '无效', '無效', '不正确', '已注销', '未知'],
    full: ['(?:邮箱|郵箱|信箱|容量|空间|空間|配额)[^.;。]{0,10}(?:已满|已滿|满了|超过|超過|超出|不足|用完)'],
    sender: ['发件', '發件', '寄件', '发信人', '发送方', '發送者', '您的ip', '来源ip'],
    seen: ['发件人地址无效', '邮箱已满', '用户不存在'],
  },
  japanese: {
    who: ['ユーザ', '宛先', 'あて先', '受信者', '受取人', 'アドレス', 'メールボックス', 'アカウント'],
    missing: ['存在しま', '存在しない', '見つかりません', '見つからない', '不明', 'ありません', '該当.{0,10}(?:ない|ません)', '無効'],
    full: ['(?:メールボックス|容量|受信箱|quota)[^.;。]{0,20}(?:いっぱい|一杯|超過|超え|オーバー|満杯)'],
    sender: ['送信者', '差出人', '送信元', '発信者', '発信元'],
    seen: ['ユーザーが見つかりません'],
  },
  korean: {
    who: ['사용자', '수신자', '수신인', '받는 ?사람', '메일함', '사서함', '편지함', '계정', '주소'],
    missing: ['존재하지 ?않', '찾을 ?수 ?없', '없습니다', '없는', '알 ?수 ?없', '유효하지', '불명'],
    full: ['(?:메일함|사서함|편지함|용량)[^.;]{0,20}(?:초과|부족|가득|꽉)'],
    sender: ['발신자', '발신인', '보낸 ?사람', '송신자', '발송'],
    seen: ['메일함 용량 초과', '존재하지 않는 사용자'],
  },
}

const SOURCE = 'translations of Exim, Postfix access tables, and texts of hosting providers'

/** Rules for refusals in other languages than English. */
export const FOREIGN_RULES: readonly ReplyRule[] = [
  { id: 'foreign-sender', kind: 'blocked', pattern: anyOf(({ sender }) => sender), source: SOURCE },
  { id: 'foreign-full', kind: 'full', pattern: anyOf(({ full }) => full), source: SOURCE },
  {
    id: 'foreign-missing',
    kind: 'missing',
    severity: 5,
    pattern: anyOf(({ who, missing }) => {
      const [somebody, unknown] = [who.join('|'), missing.join('|')]
      return [
        `(?:${somebody})[^.;]{0,40}(?:${unknown})`,
        `(?:${unknown})[^.;]{0,30}(?:${somebody})`,
      ]
    }),
    source: SOURCE,
  },
]

/** One pattern for all languages. Each alternative has the words of one language only. */
function anyOf(phrases: (language: Language) => readonly string[]): RegExp {
  return new RegExp(Object.values(LANGUAGES).flatMap(phrases).join('|'), 'u')
}
