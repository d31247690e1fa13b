import { composed } from '@plumbline/contract/composed-text'
import { CHECKS, type Check } from '@plumbline/contract/products'
import { NAMES } from './column-name-rules.ts'
import { bareText } from './subject.ts'

/** How likely a column with this name holds subjects of a check: 0 (not) to 1 (certain). */
export function nameScore(check: Check, name: string): number {
  const words = nameWords(name)
  if (words === '') return 0
  const rules = NAMES[check]
  const whole = rules.ranks.find(([pattern]) => pattern.test(words))?.[1] ?? 0
  // A known full name outweighs words that exclude a part of it: "email id".
  if (whole >= WHOLE_NAME && !bracketsExclude(check, name)) return whole
  if (!rules.subject.test(words) || isAbout(check, name)) return whole < WHOLE_NAME ? whole : 0
  const others = words.replaceAll(new RegExp(rules.subject, 'g'), ' ').split(' ').filter(Boolean)
  return others.every((word) => QUALIFIERS.has(word) || /^\d$/.test(word)) ? QUALIFIED : UNCERTAIN
}

/**
 * Whether a name is about subjects of a check without holding them: "email status", "IP country".
 */
export function describesSubjects(check: Check, name: string): boolean {
  return NAMES[check].subject.test(nameWords(name)) && isAbout(check, name)
}

const WHOLE_NAME = 0.7

/**
 * Confidence of "work email", "email of the buyer": the subject with words that only say whose it
 * is.
 */
const QUALIFIED = 0.65

/** Confidence of a name with the subject among unknown words: the cells decide. */
const UNCERTAIN = 0.55

function isAbout(check: Check, name: string): boolean {
  return NAMES[check].not.test(nameWords(name)) || bracketsExclude(check, name)
}

/** Text in brackets says whose it is ("billing") or how to write it, unless it says "verified". */
function bracketsExclude(check: Check, name: string): boolean {
  const [, aside = ''] = /\(([^()]*)\)/.exec(name) ?? []
  return (
    /\b(?:status|valid|verified|confirmed|opt|consent|date|time|type|count|yes|no|flag)\b/.test(
      wordsOf(aside),
    ) && !NAMES[check].subject.test(wordsOf(aside))
  )
}

/** The words of a name without bracketed text, and of a question without its phrase. */
function nameWords(name: string): string {
  const words = wordsOf(name.replaceAll(/\([^()]*\)/g, ' '))
  return words.replace(
    /^(?:what (?:is|s)|whats|please (?:enter|give|provide|type|tell us)|enter|provide|confirm)? ?(?:us )?(?:your|my|the) /,
    '',
  )
}

/** Whether a name is a usual column name of contact files. */
export function isKnownName(name: string): boolean {
  const words = wordsOf(name)
  if (words === '') return false
  return OTHER_NAMES.test(words) || CHECKS.some((check) => nameScore(check, name) >= 0.5)
}

/**
 * Whether two names of columns or sheets look the same: but for case, blanks and unseen characters
 * around them, and accents that a Macintosh writes as characters of their own.
 */
export function lookAlike(one: string, other: string): boolean {
  return plainName(one) === plainName(other)
}

function plainName(name: string): string {
  return composed(bareText(name)).toLowerCase()
}

/**
 * Lower-case words without punctuation: `E-mail 1 - Value` and `email1Value` become `email 1
 * value`.
 */
export function wordsOf(name: string): string {
  return (
    name
      .slice(0, 120)
      .replaceAll(/(?<=\S\s*)\[[^\][]*\]/g, ' ')
      .normalize('NFKD')
      .replaceAll(/[\u0300-\u036f]/g, '')
      .normalize('NFC')
      .replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
      .toLowerCase()
      // In Hindi and Thai, vowels are marks.
      .replaceAll(/[^\p{L}\p{N}\p{Script=Devanagari}\p{Script=Thai}]+/gu, ' ')
      .replaceAll(/(\p{L})(\d)/gu, '$1 $2')
      .trim()
      .replaceAll(/\be mail/g, 'email')
      .replaceAll(/(?<=[a-z]{2})(?=emails?\b)|(?<=\bemail)(?=(?!s\b)[a-z]{3})/g, ' ')
      .replaceAll(/\b(mobile|cell|home|work|other|business|office|assistant)(?=phone)/g, '$1 ')
      .replaceAll(/\b((?:mobile|tele)?phone)(?=number|no\b|type)/g, '$1 ')
  )
}

/** Words that say whose a subject is, or which of several, in the languages of the names below. */
const QUALIFIERS: ReadonlySet<string> = new Set(
  (
    'address addresses value number no work home personal private business company corporate office ' +
    'professional official direct main primary secondary alternate alternative other another additional ' +
    'supplemental backup recovery emergency default preferred best current new first second third ' +
    'contact contacts customer client user subscriber lead person people member student parent guardian guest ' +
    'attendee participant registrant invitee buyer purchaser payer recipient employee candidate applicant ' +
    'patient donor owner billing shipping delivery invoice account accounts school university hq from to of the ' +
    'de la le du del di da do za und and or a mobile cell portable fixe fijo fixo fisso stacjonarny komorkowy ' +
    'geschaftlich privat beruflich dienstlich bureau domicile travail trabajo casa particular ufficio adres ' +
    'adresse adresa direccion indirizzo endereco nummer numero numer your my'
  ).split(' '),
)

/** Names that identify a header, though no check reads their columns. */
const OTHER_NAMES =
  /^(?:(?:first|last|full|middle|given|family|sur|company|user|display|nick|sur)? ?name|surname|lastname|firstname|forename|nachname|vorname|nom|prenom|nombre|apellidos?|cognome|title|salutation|anrede|suffix|company|firma|organi[sz]ation(?: name)?|account(?: name)?|job title|position|department|street(?: address)?|address(?: line)? ?[12]?|city|stadt|ville|ciudad|state|region|county|zip|zip ?code|postal ?code|plz|country(?: code| region)?|land|pays|pais|id|uuid|record id|contact id|lead id|customer id|external id|ref|reference|notes?|comments?|description|tags?|labels?|group membership|birthday|date|created|created at|created date|updated at|last modified|gender|sex|language|locale|timezone|latitude|longitude|status|source|type|category|value|key|amount|price|quantity|score|age|member rating|leid|euid)$/
