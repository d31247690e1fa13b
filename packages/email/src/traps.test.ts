import { expect, test } from 'vitest'
import { compileTraps } from './traps.ts'

const traps = compileTraps({
  entries: () =>
    [
      'spamtrap@',
      'honeypot',
      'known@mail.example',
      'known@bücher.example',
      '@fallen.example',
      'gefallen-führer.example',
      'pot*@star.example',
      'honey*',
      '*.lure.example',
      '@lure*.test',
    ].values(),
})

test.each([
  ['SpamTrap', 'anywhere.example', 'spamtrap'],
  ['honeypot', 'anywhere.example', 'honeypot'],
  ['known', 'mail.example', 'known@mail.example'],
  ['known', 'xn--bcher-kva.example', 'known@xn--bcher-kva.example'],
  ['ada', 'sub.fallen.example', 'fallen.example'],
  ['ada', 'xn--gefallen-fhrer-psb.example', 'xn--gefallen-fhrer-psb.example'],
  ['pot1', 'star.example', 'pot*@star.example'],
  ['honeybee', 'anywhere.example', 'honey*'],
  ['ada', 'x.lure.example', '*.lure.example'],
  ['ada', 'mx.lure1.test', '@lure*.test'],
  ['ada', 'lure.example', null],
  ['lure1.test', 'mail.example', null],
  ['ada', 'mail.example', null],
  ['pot1', 'other.example', null],
  ['my-spamtrap', 'anywhere.example', null],
])('%s@%s is matched by %s', (local, domain, entry) => {
  expect(traps.match(local, domain)).toBe(entry)
})
