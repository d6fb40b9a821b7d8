import { MyData } from '../parts/my-data.tsx'
import { NotFound } from '../parts/not-found.tsx'
import { Sessions } from '../parts/sessions.tsx'
import type { Veterinarian } from '../people.ts'
import { ChangeAddress } from './change-address.tsx'
import { Close } from './close.tsx'
import { Profile } from './profile.tsx'

export function VeterinarianScreens({ user, route }: { user: Veterinarian; route: readonly string[] }) {
  const [place = '', ...rest] = route
  if (rest.length > 0) return <NotFound />
  if (place === '') return <Profile user={user} />
  if (place === 'email') return <ChangeAddress user={user} />
  if (place === 'sessions') return <Sessions />
  if (place === 'data') return <MyData owner="veterinarian" />
  if (place === 'close') return <Close user={user} />
  return <NotFound />
}
