/**
 * Programs that others wrote sign somebody in here, with the settings of docs/applications.md, and take a cancelled sign-in.
 * They are not part of `npm test`, because they have to be installed:
 *
 *   python3 -m venv /tmp/venv && /tmp/venv/bin/pip install -r test/relying-parties/requirements.txt
 *   python3 -m venv /tmp/pgadmin && /tmp/pgadmin/bin/pip install pgadmin4==9.18
 *   npm install --prefix /tmp/node express@5.3.0 express-openid-connect@3.4.0 @auth/express@0.12.3
 *   apt-get install apache2 libapache2-mod-auth-openidc
 *   PYTHON=/tmp/venv/bin/python PGADMIN=/tmp/pgadmin/bin/python NODE_PACKAGES=/tmp/node npx node test/relying-parties/run.ts
 *
 * Go, with the network once for its packages; and the program oauth2-proxy, on the PATH or in OAUTH2_PROXY. Keycloak needs
 * Java 17, Maven, about a minute, and the network once.
 *
 * Missing ones are named and left out. Names as arguments choose among them.
 */
import { apache } from './apache.ts'
import { goParties } from './go.ts'
import { keycloak } from './keycloak.ts'
import { nodeParties } from './node.ts'
import { pythonParties } from './python.ts'
import { openWorld, type Party } from './world.ts'

const chosen = process.argv.slice(2)
const say = (line: string) => process.stdout.write(`${line}\n`)

const parties: Record<string, Party> = {
  ...pythonParties,
  ...goParties,
  ...apache,
  ...nodeParties,
  ...keycloak,
}
const world = await openWorld()
try {
  for (const [name, { isThere, signIn }] of Object.entries(parties)) {
    if (chosen.length > 0 && !chosen.includes(name)) continue
    if (!isThere()) {
      say(`${name}: left out, not installed`)
      continue
    }
    try {
      await signIn(world)
      say(`${name}: works`)
    } catch (error) {
      say(`${name}: ${error}`)
      process.exitCode = 1
    }
  }
} finally {
  await world.close()
}
