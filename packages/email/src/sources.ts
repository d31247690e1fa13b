/**
 * Where the limits of providers and the rules for replies come from: pages of the providers, with the
 * year in which they were read, texts of mail servers, and a collection of bounces.
 */
export const SOURCES = {
  google: 'support.google.com/a/answer/3726730, read 2026',
  microsoft: 'learn.microsoft.com, Exchange Online non-delivery reports, read 2026',
  aftership: 'github.com/AfterShip/email-verifier issue 72',
  yahoo: 'senders.yahooinc.com/smtp-error-codes, read 2026',
  apple: 'support.apple.com/102322, read 2026',
  mimecast: 'mimecastsupport.zendesk.com, Mimecast SMTP error codes, read 2026',
  proofpoint: 'support.proofpoint.com, read 2026',
  trendMicro: 'success.trendmicro.com, read 2026',
  facebook: 'postmaster.facebook.com/response_codes, read 2020',
  orange: 'postmaster.orange.fr, read 2026',
  godaddy: 'godaddy.com/help, IB codes, read 2026',
  tencent: 'service.mail.qq.com, read 2026',
  zoho: 'zoho.com/mail/help, read 2026',
  comcast: 'postmaster.comcast.net, read 2026',
  sisimai: 'real bounces of sisimai/set-of-emails (BSD-2)',
  postfix: 'Postfix 3.x: postconf(5), smtpd(8) replies',
  exim: 'Exim 4.x: spec, access control lists',
  sendmail: 'sendmail 8.x: cf/README and err.c replies',
  qmail: 'qmail 1.03 and netqmail: qmail-smtpd, vpopmail vdelivermail',
  rfc3463: 'RFC 3463 3 and the IANA registry of enhanced status codes',
  rfc5321: 'RFC 5321 4.2.2, 4.2.3',
} as const
