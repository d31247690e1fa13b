import { describe, expect, test } from 'vitest'
import { classifyReply, enhancedOf, isVague } from './classify.ts'
import { ORDINARY_PROVIDER, PROVIDERS, providerOf } from './providers.ts'

describe('classifyReply', () => {
  test.each([
    ['Benutzer unbekannt', 'mailbox_not_found'],
    ['Empfänger existiert nicht', 'mailbox_not_found'],
    ['Das Postfach ist voll', 'mailbox_full'],
    ['Absenderadresse unbekannt', 'blocked'],
    ["Cette boîte n'existe pas", 'mailbox_not_found'],
    ["L'adresse de l'expéditeur est inconnue", 'blocked'],
    ['El buzón no existe', 'mailbox_not_found'],
    ['Remitente desconocido', 'blocked'],
    ['Caixa postal cheia', 'mailbox_full'],
    ['Utente inesistente', 'mailbox_not_found'],
    ['Gebruiker onbekend', 'mailbox_not_found'],
    ['Okänd mottagare', 'mailbox_not_found'],
    ['Skrzynka jest przepełniona', 'mailbox_full'],
    ['Uživatel neexistuje', 'mailbox_not_found'],
    ['Ismeretlen címzett', 'mailbox_not_found'],
    ['Utilizator necunoscut', 'mailbox_not_found'],
    ['Kullanıcı bulunamadı', 'mailbox_not_found'],
    ['Пользователь не найден', 'mailbox_not_found'],
    ['Отправитель не существует', 'blocked'],
    ['Χρήστης άγνωστος', 'mailbox_not_found'],
    ['用户不存在', 'mailbox_not_found'],
    ['邮箱已满', 'mailbox_full'],
    ['发件人地址无效', 'blocked'],
    ['ユーザーが見つかりません', 'mailbox_not_found'],
    ['존재하지 않는 사용자', 'mailbox_not_found'],
    ['메일함 용량 초과', 'mailbox_full'],
  ])('"%s" is understood as %s', (text, reason) => {
    expect(classifyReply({ phase: 'rcpt', provider: '', code: 550, text }).reason).toBe(reason)
  })

  test.each([
    'Your host does not exist in DNS',
    'Your mail server is unknown',
    'Return-path mailbox does not exist',
    'originator address does not exist',
    'Mail from unknown user refused',
    'Invalid user in MAIL FROM',
    'no such user is allowed to send',
    'address probing detected',
    '5.7.1 Mailbox verification attempts are blocked',
    'Requested action not taken: mailbox unavailable invalid DNS MX or A/AAAA resource record',
    '554 5.5.1 Error: no valid recipients',
  ])('"%s" is never about the mailbox', (text) => {
    const classified = classifyReply({ phase: 'rcpt', provider: '', code: 550, text })
    expect(classified.status).toBe('unknown')
  })

  test('a refusal that names our own host is about us', () => {
    const text = '550 5.1.1 verifier.sender.test does not exist'
    const classified = classifyReply({
      phase: 'rcpt',
      provider: '',
      code: 550,
      text,
      own: ['verifier.sender.test'],
    })
    expect(classified.reason).toBe('blocked')
  })

  test('words in a local part do not count', () => {
    const classified = classifyReply({
      phase: 'rcpt',
      provider: '',
      code: 550,
      text: '<spamhaus.blocked@y.example> user unknown',
    })
    expect(classified.reason).toBe('mailbox_not_found')
  })

  test.each([
    ['rate limit exceeded: user unknown', 'limit'],
    ['Mailbox spamhaus unavailable: user unknown', 'spamhaus'],
  ])('what only the name of the mailbox says in "%s" is not said', (text, local) => {
    const reply = { phase: 'rcpt', provider: '', code: 550, text } as const
    const recipient = { local, domain: 'a.test' }
    expect(classifyReply(reply).party).not.toBe('mailbox')
    expect(classifyReply({ ...reply, recipient }).reason).toBe('mailbox_not_found')
  })

  test.each([
    ['5.7.1 rejected by policy', true],
    ['5.7.1 Requested action not taken', true],
    ['message rejected: spam content', true],
    ['SPF check failed', true],
    ['listed at zen.spamhaus.org', false],
    ['5.7.606 Access denied, banned sending IP', false],
  ])('the refusal "%s" may also be about the domain: %s', (text, vague) => {
    const refusal = classifyReply({ phase: 'rcpt', provider: '', code: 550, text })
    expect([refusal.party, isVague(refusal)]).toEqual(['us', vague])
  })

  test('250 and 251 are acceptance, 252 proves nothing', () => {
    const reasons = [250, 251, 252].map(
      (code) => classifyReply({ phase: 'rcpt', provider: '', code, text: 'ok' }).reason,
    )
    expect(reasons).toEqual(['accepted', 'accepted', 'unclassified_reply'])
  })

  test.each([
    ['4.2.0 Greylisted, try again in 300 seconds', 300],
    ['4.7.1 Greylisted for 5 minutes', 300],
    ['Greylisting, retry in 00:04:59', 299],
    ['greylisted, wait 2 hours', 7200],
    ['greylisted; retry-after: 90', 90],
    ['greylisted', null],
    ['greylisted, retry in 12 hours', 43_200],
    ['greylisted, retry in 13 hours', null],
    ['greylisted, retry in 0 seconds', null],
    ['greylisted, retry in 12:00:00', 43_200],
    ['greylisted, retry in 12:00:01', null],
    ['greylisted, retry in 00:00:00', null],
    ['mailbox busy since 10:11:12', null],
  ])('the wait in "%s" is %s seconds', (text, seconds) => {
    expect(classifyReply({ phase: 'rcpt', provider: '', code: 450, text }).retrySeconds).toBe(
      seconds,
    )
  })

  test('a greylisting names its wait under a permanent code, too', () => {
    const text = 'Greylisted, try again in 300 seconds'
    const reply = classifyReply({ phase: 'rcpt', provider: '', code: 550, text })
    expect([reply.reason, reply.retrySeconds]).toEqual(['greylisted', 300])
  })

  test('a reply that no rule matches is unknown', () => {
    const classified = classifyReply({
      phase: 'rcpt',
      provider: '',
      code: 550,
      text: 'Requested action not taken',
    })
    expect([classified.status, classified.reason]).toEqual(['unknown', 'unclassified_reply'])
  })

  test('the time to read a reply grows only linearly with its length', () => {
    const texts = [
      'user '.repeat(2000),
      'mailbox: '.repeat(2000),
      '<a'.repeat(5000),
      'sender '.repeat(2000),
      'unknown '.repeat(2000),
    ]
    for (const text of texts) {
      const beganMs = performance.now()
      classifyReply({ phase: 'rcpt', provider: '', code: 550, text })
      expect(performance.now() - beganMs).toBeLessThan(1_000)
    }
  })
})

describe('providers', () => {
  test.each([
    ['gmail-smtp-in.l.google.com', 'google'],
    ['smtp.google.com', 'google'],
    ['hotmail-com.olc.protection.outlook.com', 'outlook_consumer'],
    ['contoso-com.mail.protection.outlook.com', 'microsoft365'],
    ['mta5.am0.yahoodns.net', 'yahoo'],
    ['mx01.mail.icloud.com', 'apple'],
    ['mx1.company.example', 'other'],
    ['notgoogle.com', 'other'],
    ['microsoft', 'microsoft365'],
  ])('%s is %s', (host, id) => {
    expect(providerOf(host).id).toBe(id)
  })

  test('every row has hosts and a source', () => {
    for (const provider of PROVIDERS) {
      expect(provider.hosts.length).toBeGreaterThan(0)
      expect(provider.source.length).toBeGreaterThan(10)
      expect(provider.connections).toBeLessThanOrEqual(20)
    }
    expect(ORDINARY_PROVIDER.id).toBe('other')
    expect(enhancedOf('550 5.1.1 x')).toBe('5.1.1')
  })
})
