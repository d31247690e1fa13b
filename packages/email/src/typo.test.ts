import { describe, expect, test } from 'vitest'
import { suggestDomain } from './typo.ts'

describe('suggestDomain', () => {
  test.each([
    ['a@gamil.com', 'gmail.com'],
    ['a@gmail.con', 'gmail.com'],
    ['a@gmailcom', 'gmail.com'],
    ['a@yaho.com', 'yahoo.com'],
    ['a@hotmial.com', 'hotmail.com'],
    ['a@outlok.com', 'outlook.com'],
    ['a@iclould.com', 'icloud.com'],
    ['a@comcst.net', 'comcast.net'],
    ['a@hotmail.co', 'hotmail.com'],
    ['a@gmail.com.com', 'gmail.com'],
    ['a@verizon.ne', 'verizon.net'],
    ['a@mail.ry', 'mail.ru'],
    ['a@me.con', 'me.com'],
    ['a@attnet', 'att.net'],
    ['a@yahoo.couk', 'yahoo.co.uk'],
    ['a@yahoo.co.k', 'yahoo.co.uk'],
  ])('%s is likely %s', (address, domain) => {
    expect(suggestDomain(address)).toBe(domain)
  })

  test.each([
    'a@gmail.com',
    'a@mail.com',
    'a@email.com',
    'a@ymail.com',
    'a@gmx.com',
    'a@live.co.uk',
    'a@yahoo.fr',
    'a@hotmail.de',
    'a@outlook.fr',
    'a@aol.de',
    'a@me.com',
    'a@me.co',
    'a@mail.co',
    'a@zoho.co',
    'a@cox.com',
    'a@inbox.lt',
    'a@zoho.eu',
    'a@yahoo.co.id',
    'a@frontier.example',
    'a@company.example',
    'a@goal.com',
    'a@small.com',
    'a@[192.0.2.1]',
    'nonsense',
  ])('%s is not corrected', (address) => {
    expect(suggestDomain(address)).toBeNull()
  })
})
