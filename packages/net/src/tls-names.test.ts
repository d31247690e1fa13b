import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { createCertificate, type Certificate } from '@plumbline/test/simnet/smtp/certificate.ts'
import { expect, onTestFinished, test, vi } from 'vitest'

const DAY_MS = 86_400_000

/** The port of a server on 127.0.0.1 with this certificate. */
async function serve(certificate: Certificate): Promise<number> {
  const server = createServer(certificate, (_req, res) => res.end('here'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  // Safe because it listens on TCP.
  return (server.address() as AddressInfo).port
}

test('a certificate of the address itself is verified, one of another name or address is not', async () => {
  const certificates = ['127.0.0.1', '127.0.0.2', 'localhost'].map((host) =>
    createCertificate(host, Date.now() - DAY_MS, Date.now() + DAY_MS),
  )
  const trusted = getCACertificates('default')
  setDefaultCACertificates([...trusted, ...certificates.map(({ cert }) => cert)])
  onTestFinished(() => setDefaultCACertificates(trusted))
  // A process reads once which certificates are trusted.
  vi.resetModules()
  const { createEgress } = await import('./egress.ts')
  const { fetchBounded } = await import('./http.ts')
  const request = async (port: number): Promise<string> => {
    const answer = await fetchBounded({
      url: `https://127.0.0.1:${port}/`,
      maxBytes: 100,
      maxRedirects: 0,
      timeoutMs: 5_000,
      signal: new AbortController().signal,
      egress: createEgress({ allow: ['127.0.0.0/8'] }),
      resolver: {
        resolve: async () => ({ kind: 'nxdomain', ttlSeconds: 1 }),
        ask: async () => ({ kind: 'failed', reason: 'refused' }),
      },
    })
    return answer.kind === 'failed' ? answer.reason : Buffer.from(answer.body).toString()
  }
  const ports = await Promise.all(certificates.map(serve))
  expect(await Promise.all(ports.map(request))).toEqual(['here', 'tls', 'tls'])
})
