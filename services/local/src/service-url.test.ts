import { expect, test } from 'vitest'
import { serviceUrl, welcomeUrl } from './service-url.ts'

test.each([
  ['127.0.0.1', 'http://127.0.0.1:8080', 'http://127.0.0.1:8080/app/welcome#c'],
  ['localhost', 'http://localhost:8080', 'http://localhost:8080/app/welcome#c'],
  ['0.0.0.0', 'http://127.0.0.1:8080', 'http://127.0.0.1:8080/app/welcome#c'],
  ['::', 'http://[::1]:8080', 'http://[::1]:8080/app/welcome#c'],
  ['::1', 'http://[::1]:8080', 'http://[::1]:8080/app/welcome#c'],
  ['192.0.2.7', 'http://192.0.2.7:8080', undefined],
  ['2001:db8::7', 'http://[2001:db8::7]:8080', undefined],
])('an API on %s is reached at %s, and its first account opened at %s', (host, url, link) => {
  expect(serviceUrl(host, '8080')).toBe(url)
  expect(welcomeUrl(url, 'c')).toBe(link)
})
