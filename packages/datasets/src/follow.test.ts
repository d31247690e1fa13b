import { expect, test } from 'vitest'
import { follow } from './follow.ts'

interface File {
  stamp: string
  content: string | Error
  reads: number
}

function watch(file: File): ReturnType<typeof follow<string>> {
  return follow(
    async () => {
      if (file.stamp === '') throw new Error('no such file')
      return file.stamp
    },
    async () => {
      file.reads++
      if (file.content instanceof Error) throw file.content
      return file.content
    },
  )
}

test('unchanged files are not read again', async () => {
  const file: File = { stamp: '1', content: 'a', reads: 0 }
  const followed = await watch(file)
  await followed.refresh()
  expect([followed.value, file.reads]).toEqual(['a', 1])
})

test('after a broken change the old value stays, and the next change is read', async () => {
  const file: File = { stamp: '1', content: 'a', reads: 0 }
  const followed = await watch(file)
  Object.assign(file, { stamp: '2', content: new Error('cut short') })
  await followed.refresh()
  await followed.refresh()
  expect([followed.value, followed.fault, file.reads]).toEqual(['a', 'cut short', 2])
  Object.assign(file, { stamp: '3', content: 'b' })
  await followed.refresh()
  expect([followed.value, followed.fault]).toEqual(['b', null])
})

test('a file that is missing for a while is read again when it is back', async () => {
  const file: File = { stamp: '1', content: 'a', reads: 0 }
  const followed = await watch(file)
  file.stamp = ''
  await followed.refresh()
  expect([followed.value, followed.fault]).toEqual(['a', 'no such file'])
  file.stamp = '1'
  await followed.refresh()
  expect([followed.fault, file.reads]).toEqual([null, 1])
})

test('a change that could not be read, as for its permissions or for too many open files, is read as soon as it can be', async () => {
  const file: File = { stamp: '1', content: 'a', reads: 0 }
  const followed = await watch(file)
  const refused = Object.assign(new Error('permission denied'), { code: 'EACCES' })
  Object.assign(file, { stamp: '2', content: refused })
  await followed.refresh()
  await followed.refresh()
  expect([followed.value, followed.fault, file.reads]).toEqual(['a', 'permission denied', 3])
  file.content = 'b'
  await followed.refresh()
  expect([followed.value, followed.fault]).toEqual(['b', null])
  await followed.refresh()
  expect(file.reads).toBe(4)
})

test('a first load that fails throws', async () => {
  const file: File = { stamp: '1', content: new Error('cut short'), reads: 0 }
  await expect(watch(file)).rejects.toThrow('cut short')
})
