package database

// Insist runs a statement of a batch that autocommits each. Once one before it
// is committed, so that the batch cannot be tried anew without its results, it
// repeats a lost race by itself, and any other error is [Unknown].
func Insist(committed bool, statement func() error) error {
	err := statement()
	if !committed {
		return err
	}
	for range maxRaces {
		if !LostRace(err) {
			break
		}
		err = statement()
	}
	if err != nil {
		return Unknown(err)
	}
	return nil
}
