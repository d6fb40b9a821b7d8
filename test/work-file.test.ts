/** The private file in which an import is worked out. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import fc from 'fast-check'
import { UsageError } from '../src/errors.ts'
import { openSqlite } from '../src/platform/db/sqlite.ts'
import { WorkFile } from '../src/platform/db/work-file.ts'
import { anyCharacter } from './support/arbitraries.ts'
import { startProcess } from './support/child.ts'
import { newFaults } from './support/faults.ts'
import { until } from './support/wait.ts'

const mebibyte = 1024 * 1024
const folder = mkdtempSync(join(tmpdir(), 'chiron-work-file-'))
after(() => rmSync(folder, { recursive: true, force: true }))

const opened = (options: Partial<ConstructorParameters<typeof WorkFile>[0]> = {}) =>
  new WorkFile({ folder, octetsMax: 100 * mebibyte, ...options })

/** A number that no process has. */
async function deadPid(): Promise<number> {
  const child = startProcess('true', [], {})
  await child.exited
  return child.pid
}

suite('A working file', () => {
  test('keeps texts as they are, whatever characters they have', () => {
    const file = opened()
    file.exec('create table one (n integer primary key, text text)')
    const text = fc.string({ unit: anyCharacter, maxLength: 40 })
    fc.assert(
      fc.property(fc.array(text, { maxLength: 80 }), (texts) => {
        file.exec('delete from one')
        const rows = file.rows('one', 2)
        for (const [i, one] of texts.entries()) rows.add(i, one)
        rows.flush()
        const kept = file.all<{ text: string }>('select text from one order by n').map((row) => row.text)
        assert.deepEqual(kept, texts)
      }),
      { numRuns: 40 },
    )
    file.close()
  })

  test('has no name, and is for its owner alone', () => {
    const before = openFiles()
    const file = opened()
    assert.deepEqual(readdirSync(folder), [])
    const [path] = openFiles().filter((one) => !before.includes(one))
    assert.match(path!, /chiron-work-.* \(deleted\)$/)
    const [descriptor] = descriptorsOf(path!)
    assert.equal(statSync(`/proc/self/fd/${descriptor}`).mode & 0o777, 0o600)
    file.close()
  })

  test('removes the names that killed processes left, and no others', async () => {
    const left = `chiron-work-${await deadPid()}-a`
    const others = [`chiron-work-${process.pid}-b`, 'chiron.db', 'chiron-work-notes']
    for (const name of [left, ...others]) writeFileSync(join(folder, name), '')
    opened().close()
    assert.deepEqual(readdirSync(folder).sort(), others.sort())
    for (const name of others) rmSync(join(folder, name))
  })

  test('says so where it cannot be made', () => {
    const missing = join(folder, 'missing')
    assert.throws(() => opened({ folder: missing }), isUsage(`cannot be written in ${missing}: ENOENT`))
    const file = join(folder, 'file')
    writeFileSync(file, '')
    assert.throws(() => opened({ folder: file }), isUsage(`cannot be written in ${file}: ENOTDIR`))
    rmSync(file)
  })

  test('does not grow beyond its bound', () => {
    const file = opened({ octetsMax: mebibyte, tooLarge: () => new RangeError('enough') })
    file.exec('create table one (text text)')
    const rows = file.rows('one', 1)
    const write = () => {
      for (let i = 0; i < 10_000; i++) rows.add('x'.repeat(1_000))
    }
    assert.throws(write, new RangeError('enough'))
    file.close()
  })

  test('says that the disk is full, when it is made and when it grows', async () => {
    const disk = join(folder, 'disk')
    const full = join(folder, 'full')
    mkdirSync(disk)
    const faults = newFaults(disk)
    const env = faults.begin()
    const program = `
      import { existsSync } from 'node:fs'
      import { setTimeout } from 'node:timers/promises'
      import { WorkFile } from '${new URL('../src/platform/db/work-file.ts', import.meta.url)}'
      const opened = () => new WorkFile({ folder: '${disk}', octetsMax: 1e9 })
      const file = opened()
      process.stdout.write('opened')
      while (!existsSync('${full}')) await setTimeout(10)
      file.exec('create table one (text text)')
      const rows = file.rows('one', 1)
      const grow = () => {
        for (let i = 0; i < 200_000; i++) rows.add('x'.repeat(1_000))
      }
      for (const work of [opened, grow])
        try {
          work()
        } catch (error) {
          process.stdout.write('; ' + error.message)
        }`
    const child = startProcess(process.execPath, ['--input-type=module', '-e', program], { env })
    await until(
      async () => child.output.out,
      (out) => out === 'opened',
    )
    faults.failWrites('ENOSPC')
    writeFileSync(full, '')
    await child.exited
    faults.remove()
    const why = `there is no space left for a working file in ${disk}`
    assert.equal(child.output.out, `opened; ${why}; ${why}`, child.output.err)
  })

  test('takes back what was only tried', async () => {
    const file = opened()
    file.exec('create table one (n integer); insert into one values (1)')
    const count = () => file.number('select count(*) from one')
    await file.aside(async () => {
      file.exec('insert into one values (2)')
      assert.equal(count(), 2)
    })
    await assert.rejects(
      file.aside(() => Promise.reject(new Error('no'))),
      /no/,
    )
    assert.equal(count(), 1)
    file.close()
  })

  test('shows a store as it is at the first read, and cannot change it', async () => {
    const path = join(folder, 'store.db')
    const db = openSqlite(path)
    await db.run('create table one (n integer)')
    await db.run('insert into one values (1)')
    const file = opened()
    file.show(path)
    const count = () => file.number('select count(*) from store.one')
    assert.equal(count(), 1)
    await db.run('insert into one values (2)')
    assert.equal(count(), 1)
    assert.throws(() => file.exec('insert into store.one values (3)'), /readonly/)
    // Also after an error in the middle of its rows.
    const stopped = () => {
      for (const _ of file.each('select n from store.one')) throw new Error('stopped')
    }
    assert.throws(stopped, /stopped/)
    file.hide()
    file.show(path)
    assert.equal(count(), 2)
    file.close()
    await db.close()
  })
})

const isUsage = (text: string) => (error: unknown) =>
  error instanceof UsageError && error.message.endsWith(text)

const descriptors = () =>
  readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      return [[descriptor, readlinkSync(`/proc/self/fd/${descriptor}`)] as const]
    } catch {
      return []
    }
  })
const openFiles = () => descriptors().map(([, path]) => path)
const descriptorsOf = (path: string) => descriptors().flatMap(([one, other]) => (other === path ? [one] : []))
