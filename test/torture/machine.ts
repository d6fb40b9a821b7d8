/** The parts of the long form in which the machine fails, and mail servers with it. */
import { randomInt } from 'node:crypto'
import { badManners, oddManners } from '../support/bad-smtp.ts'
import type { Engine } from '../support/engines.ts'
import { type CrashReport, crashes } from './crashes.ts'
import { Damaged, damageNames } from './damage.ts'
import { Interrupter } from './interrupted.ts'
import { badServer, longOutage, oddServer, startWith } from './mail.ts'
import { failingDisk, fullDisk, noDescriptors, noMemory } from './resources.ts'
import type { Part } from './run.ts'
import { jumps, standsStill } from './time.ts'

const engines: readonly Engine[] = ['sqlite', 'postgres']
const cutsAtOnce = 10
const mailsEach = 40
const outageMails = 10_000

export const machineParts: readonly Part[] = [
  {
    name: 'power',
    what: 'Power cuts under load, on SQLite: unsynced sectors are lost, nothing acknowledged is',
    share: 0.15,
    async run(until) {
      const reports: CrashReport[] = []
      while (Date.now() < until)
        for (const workers of [1, 2] as const) {
          const lives = Array.from({ length: cutsAtOnce }, () => randomInt(1, 40))
          reports.push(await crashes({ engine: 'sqlite', workers, lives, power: 'cut' }))
        }
      return {
        powerCuts: sumOf(reports, ({ kills }) => kills),
        lostWrites: sumOf(reports, ({ lostWrites = 0 }) => lostWrites),
        registered: sumOf(reports, ({ registered }) => registered),
        signedIn: sumOf(reports, ({ signedIn }) => signedIn),
        refreshed: sumOf(reports, ({ refreshed }) => refreshed),
        signedOut: sumOf(reports, ({ signedOut }) => signedOut),
      }
    },
  },
  {
    name: 'interrupted',
    what: 'kill -9 (on SQLite: power cuts) during migration, import, undo, key rotation, backup and restoration',
    share: 0.15,
    async run(until) {
      const total = {
        migration: 0,
        import: 0,
        undo: 0,
        rotation: 0,
        backup: 0,
        restoration: 0,
        doneBefore: 0,
      }
      for (const [i, engine] of engines.entries()) {
        const end = until - ((until - Date.now()) * (engines.length - 1 - i)) / (engines.length - i)
        const interrupter = await Interrupter.start(engine)
        try {
          while (Date.now() < end) await interrupter.round()
        } finally {
          await interrupter.stop()
        }
        for (const name of Object.keys(total) as (keyof typeof total)[])
          total[name] += interrupter.counts[name]
      }
      return total
    },
  },
  {
    name: 'resources',
    what: 'Full and failing disks, exhausted file descriptors, a worker out of memory',
    share: 0.1,
    async run(until) {
      const total = { fullDisks: 0, failingDisks: 0, shortagesOfDescriptors: 0, workersWithoutMemory: 0 }
      let [acknowledged, refused] = [0, 0]
      while (Date.now() < until) {
        const disks = [await fullDisk(), await failingDisk()]
        total.fullDisks += disks[0]!.faults
        total.failingDisks += disks[1]!.faults
        for (const workers of [1, 2] as const) {
          acknowledged += (await noDescriptors(workers)).acknowledged
          total.shortagesOfDescriptors += 2
        }
        acknowledged += (await noMemory()).acknowledged + sumOf(disks, (report) => report.acknowledged)
        refused += sumOf(disks, (report) => report.refused)
        total.workersWithoutMemory++
      }
      return { ...total, acknowledged, refused }
    },
  },
  {
    name: 'mail',
    what: 'Mail servers that are slow, refuse, hang or lie, and one that is down for twelve minutes',
    share: 0.15,
    async run() {
      await Promise.all(
        badManners.map(async (manner) => {
          const running = await startWith('sqlite', manner === 'refuses STARTTLS' ? '0.0.0.0' : undefined)
          await badServer(running, manner, mailsEach).finally(running.stop)
        }),
      )
      const running = await startWith('sqlite')
      try {
        for (const manner of oddManners) await oddServer(running, manner, mailsEach)
      } finally {
        await running.stop()
      }
      return {
        kindsOfServers: badManners.length + oddManners.length,
        ...(await longOutage('sqlite', outageMails, 1)),
      }
    },
  },
  {
    name: 'time',
    what: 'Processes suspended for eleven minutes, and clocks that jump by an hour and back',
    share: 0.05,
    async run(until) {
      const total = { stops: 0, jumps: 0 }
      while (Date.now() < until)
        for (const engine of engines) {
          await standsStill(engine)
          total.stops++
          await jumps(engine)
          total.jumps += 4
        }
      return total
    },
  },
  {
    name: 'damage',
    what: 'Damaged SQLite files: reported at start with a remedy, and left unchanged',
    share: 0.05,
    async run(until) {
      const damaged = await Damaged.make()
      let files = 0
      try {
        while (Date.now() < until)
          for (const damage of damageNames) {
            const said = await damaged.refusal(damage)
            if (!said.includes('is damaged, or is no SQLite file')) throw new Error(`${damage}: ${said}`)
            files++
          }
      } finally {
        damaged.remove()
      }
      return { files }
    },
  },
]

const sumOf = <T>(all: readonly T[], count: (one: T) => number) =>
  all.reduce((sum, one) => sum + count(one), 0)
