/** Loaded into a server before it starts: each request keeps the process busy for some milliseconds of processor time. */
import { subscribe } from 'node:diagnostics_channel'

const micros = Number(process.env.WORK_MS) * 1000

function used(): number {
  const { user, system } = process.threadCpuUsage()
  return user + system
}

subscribe('http.server.request.start', () => {
  for (const until = used() + micros; used() < until; );
})
