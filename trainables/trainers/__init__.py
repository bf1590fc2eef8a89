"""How a pack is trained. `reference` is the oracle, `batched` trains any cells of one shape, `gram` noiseless symbols exactly."""
