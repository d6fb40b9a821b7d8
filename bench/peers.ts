/** Chiron and its peers on SQLite, in turns: reading one's own record, and a whole sign-in. */
import type { Plan } from './against.ts'
import { type Bench, say, tokens } from './bench.ts'
import { thisBuild } from './builds.ts'
import { cases } from './cases.ts'
import { ratio, spread, table, text } from './figures.ts'
import { inTurn, requestLoad, signInLoad } from './load.ts'
import { startBetterAuth } from './peers/better-auth/start.ts'
import { addressOf } from './peers/peer.ts'
import { startPocketBase } from './peers/pocketbase/start.ts'
import { measure, type Side } from './rounds.ts'
import { Filled } from './stores.ts'

export async function measurePeers(bench: Bench, { accounts, rounds }: Plan): Promise<void> {
  say('filling')
  const sizes = { folder: bench.folder, smtpUrl: bench.mail.url, accounts, tokens }
  const stores = await bench.stores('sqlite')
  const people = { veterinarians: accounts, students: 0, tokens }
  const store = await new Filled(stores, 'chiron', thisBuild, people, bench.folder).create()
  const chiron = await bench.serve(thisBuild, store)
  const peers = [await startPocketBase(sizes), await startBetterAuth(sizes)]
  const emails = Array.from({ length: tokens }, (_, i) => addressOf(i))
  const rows = [['', 'own record, µs', '× Chiron', 'whole sign-in, µs', '× Chiron']]
  const cells = ['Chiron', ...peers.map(({ name }) => name)].map((name) => [name])
  for (const id of ['me', 'sign-in']) {
    say(id)
    const one = cases.find((each) => each.id === id)!
    const isSignIn = id === 'sign-in'
    const sides: Side[] = [bench.side(one, chiron, store, one.load(await store.tokens(), bench.mail))]
    for (const { name, server, own, flow } of peers) {
      const load = isSignIn ? signInLoad(emails, flow, bench.mail) : requestLoad(inTurn(own))
      sides.push({ name, servers: [server], storePids: [], load, isSignIn, first: isSignIn ? 0 : tokens })
    }
    const micros = (await measure(sides, rounds)).map((costs) => costs.map(({ server }) => server))
    for (const [i, each] of micros.entries())
      cells[i]!.push(text(spread(each)), text(ratio(each, micros[0]!)))
  }
  process.stdout.write(table([...rows, ...cells]))
}
