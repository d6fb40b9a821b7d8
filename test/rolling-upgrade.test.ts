/** A pair of processes is replaced by the next release under load, and back. `test/rolling/run.ts` does it with a real one. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { knownSchema, versionText } from '../src/platform/db/migrate.ts'
import { endProcesses, newFolder } from './support/child.ts'
import { migratedStore, onPostgres } from './support/engines.ts'
import { Balancer, copyProgram, Load, Pair, type Program } from './support/rolling.ts'
import { eventually, pause } from './support/wait.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const phaseMs = 500

/** This program with one more migration. */
function nextRelease(folder: string): Program {
  copyProgram(root, folder)
  const version = versionText(knownSchema('postgres') + 1)
  writeFileSync(
    join(folder, 'migrations', `${version}_of_tomorrow.sql`),
    `alter table session add column of_tomorrow text;
     alter table person add column of_tomorrow integer not null default 0;
     alter table outbox add column of_tomorrow bigint;
     create table tomorrow (id text primary key);
     create index event_of_tomorrow on event (at, actor);`,
  )
  return { name: 'the next release', folder }
}

test('a pair is upgraded to the next release and back, and nobody notices', onPostgres, async (t) => {
  const folder = newFolder()
  const store = await migratedStore('postgres')
  const load = await Load.prepare(store.url)
  const pair = new Pair(load.env)
  t.after(async () => {
    endProcesses()
    await load.close()
    await store.remove()
    folder.remove()
  })
  const own: Program = { name: 'this program', folder: root }
  const next = nextRelease(folder.path)

  await load.fill(pair, own)
  await pair.start(own)
  const balancer = new Balancer(pair.members)
  t.after(() => balancer.stop())
  const roll = async (to: Program, importers: readonly Program[]) => {
    for (const i of [0, 1]) {
      await Promise.all([pair.replace(i, to), load.import(pair, importers[i]!)])
      await eventually('it gets requests', () => balancer.isComplete())
    }
    await pause(phaseMs)
  }
  await load.start(balancer)
  await pair.run(next, 'migrate')
  await pause(phaseMs)
  await roll(next, [own, next])
  await roll(own, [next, own])
  await load.stop()
  await load.check()
})
