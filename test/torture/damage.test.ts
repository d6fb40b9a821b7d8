import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { main, newFolder, startChiron, startProcess } from '../support/child.ts'
import { Damaged, damageNames, refusalOf } from './damage.ts'

const privileges = '-dac_override,-dac_read_search'
/** Root may write what nobody may write, unless that is taken away. */
const withoutPrivilege: typeof startChiron = (args, options) =>
  startProcess(
    'setpriv',
    [`--bounding-set=${privileges}`, `--inh-caps=${privileges}`, process.execPath, main, ...args],
    options,
  )

suite('A store', () => {
  let damaged: Damaged
  const folder = newFolder()
  before(async () => {
    damaged = await Damaged.make()
  })
  after(() => {
    damaged.remove()
    folder.remove()
  })

  for (const damage of damageNames)
    test(`${damage} is named at the start, with what to do, and left as it is`, async () => {
      const said = await damaged.refusal(damage)
      assert.match(
        said,
        /^chiron: the store \S+chiron\.db is damaged or is not an SQLite file \(.+\)\. .*chiron restore/,
      )
    })

  test('that is a folder is named at the start', async () => {
    const path = join(folder.path, 'folder.db')
    mkdirSync(path)
    assert.match(await refusalOf(path), /folder\.db is a directory: CHIRON_DATABASE_URL must name a file/)
  })

  test('that its user may not write is named at the start', async () => {
    const path = join(folder.path, 'locked.db')
    writeFileSync(path, '')
    chmodSync(path, 0o400)
    const start = process.getuid?.() === 0 ? withoutPrivilege : startChiron
    assert.match(
      await refusalOf(path, start),
      /locked\.db cannot be opened for writing \(.*\): the user who runs/,
    )
  })
})
