import { expect, it } from 'vitest'
import { resultFileName } from './result-file-name.ts'

const BATCH = { id: 'bat_1', name: null }

it.each([
  ['contacts.csv', 'contacts-result.csv'],
  ['Kontakte Mai.csv.gz', 'Kontakte Mai-result.csv'],
  ['list.2026.XLSX', 'list.2026-result.csv'],
  ['قائمة.csv', 'قائمة-result.csv'],
  ['../../etc/passwd', 'etc_passwd-result.csv'],
  ['C:\\tmp\\x.csv', 'C_tmp_x-result.csv'],
  ['<img src=x onerror=alert(1)>.csv', 'img src=x onerror=alert(1)-result.csv'],
  ['\u202egpj.exe\r\nSet-Cookie: a', 'gpj.exe_Set-Cookie_ a-result.csv'],
  ['😀'.repeat(200), `${'😀'.repeat(80)}-result.csv`],
  ['.csv', 'bat_1-result.csv'],
  [' . / . ', 'bat_1-result.csv'],
])('%s becomes %s', (file, name) => {
  expect(resultFileName({ ...BATCH, file_name: file }, 'result', 'csv')).toBe(name)
})

it('a batch of records is named by its name, else by its id', () => {
  const records = { ...BATCH, file_name: null }
  expect(resultFileName({ ...records, name: 'Spring' }, 'send', 'xlsx')).toBe('Spring-send.xlsx')
  expect(resultFileName(records, 'refused', 'csv')).toBe('bat_1-refused.csv')
})
