import { fakeResolver } from '@plumbline/email/smtp-fixture'
import { createEgress } from '@plumbline/net/egress'
import { expect, test } from 'vitest'
import { examineMail } from './mail.ts'
import { doctorSettings } from './settings.ts'

const OURS = '9.9.1.2'
const SETTINGS = {
  SMTP_HELO_NAME: 'verifier.sender.test',
  SMTP_MAIL_FROM: 'verify@sender.test',
  SMTP_SOURCE_ADDRESSES: OURS,
}

test.each([
  ['is', ['127.0.0.2'], 'failed', `${OURS} is listed (127.0.0.2)`],
  ['is not', 'nxdomain', 'ok', `${OURS} is not listed`],
] as const)(
  'the block lists that SMTP_DNS_LISTS names tell whether our address %s on them',
  async (_, records, status, detail) => {
    const resolver = fakeResolver({ '2.1.9.9.bl.test A': records, '2.1.9.9.other.test A': [] })
    const egress = createEgress({ allow: [] })
    const settings = doctorSettings({ ...SETTINGS, SMTP_DNS_LISTS: 'bl.test, other.test' })
    const network = { egress, resolver, dnsServers: [] }
    const findings = await examineMail(network, settings, AbortSignal.timeout(5_000))
    const listings = findings.filter(({ name }) => name.startsWith('blocklist'))
    expect(listings.map(({ name }) => name)).toEqual(['blocklist bl.test', 'blocklist other.test'])
    expect(listings[0]).toMatchObject({ status, detail })
  },
)

test('no block list is queried unless the operator names one', async () => {
  const network = {
    egress: createEgress({ allow: [] }),
    resolver: fakeResolver({}),
    dnsServers: [],
  }
  const signal = AbortSignal.timeout(5_000)
  const findings = await examineMail(network, doctorSettings(SETTINGS), signal)
  expect(findings.filter(({ name }) => name.startsWith('blocklist'))).toEqual([])
})

test('a block list that is no zone is refused', () => {
  expect(() => doctorSettings({ SMTP_DNS_LISTS: 'http://bl.test/' })).toThrow('SMTP_DNS_LISTS')
})
