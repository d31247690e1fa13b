import { expect, test } from 'vitest'
import { refuseCommonPassword } from './common-passwords.ts'

test.each([
  'password1234',
  'Password1234!',
  'P4$$w0rd2024',
  'qwertyuiop123',
  'qwertyuiopas',
  '1q2w3e4r5t6y',
  'football!!!!',
  'iloveyou2024',
  'passwordpassword',
  'dragondragon',
  '123123123123',
  'aaaaaaaaaaaa',
  'abababababab',
  'abcdefghijklm',
  '098765432109',
  'lovelace1815',
  '!!Lovelace!!',
])('%s is refused', async (password) => {
  await expect(
    refuseCommonPassword(password, ['Ada Lovelace', 'ada@lovelace.example']),
  ).rejects.toMatchObject({ code: 'unprocessable' })
})

test.each([
  'tidal lantern cactus seven',
  'correct horse battery staple',
  'j8-Kq!z0wP_4',
  '\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645',
  'sonnenblume im garten',
])('%s is accepted', async (password) => {
  await expect(refuseCommonPassword(password, ['Ada Lovelace'])).resolves.toBeUndefined()
})
