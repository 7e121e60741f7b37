// Command trainer trains a network with a loop of its own: it draws minibatches in which every class
// is equally frequent, and stops when the accuracy on validation samples has not risen for a while.
//
//	go run ./examples/trainer
package main

import (
	"context"
	"fmt"
	"log"

	"dpnbench/dataset/source"
	"dpnbench/dpn"
	"dpnbench/dpn/layer"
	"dpnbench/engine"
	"dpnbench/engine/num"
)

func main() {
	ctx := context.Background()
	data, err := source.Open("digits", source.Options{TrainSize: 3000, TestSize: 1000, Seed: 1})
	check(err)
	e, err := engine.New()
	check(err)
	defer e.Close()

	config, err := dpn.Preset("compact") // every setting is a field
	check(err)
	config.Batch = 50
	model, err := dpn.New(config, data)
	check(err)
	train, validation, err := model.Split(data.Train) // a tenth of every class is for validation
	check(err)
	_, err = model.Init(ctx, e, train) // centres of the potential, by k-means
	check(err)

	byClass := make([][]int32, len(data.Classes))
	for i, y := range train.Labels {
		byClass[y] = append(byClass[y], int32(i))
	}
	trainer, random := dpn.NewTrainer(model, e), num.NewRand(1, 0)
	const updates, patience = 500, 4
	best, since := 0.0, 0
	for update := range updates {
		batch := make([]int32, config.Batch)
		for b := range batch {
			of := byClass[b%len(byClass)]
			batch[b] = of[random.Intn(len(of))]
		}
		// The factor on the learning rates of config: a short rise, then half a cosine (of any epoch).
		rate := layer.Rate(layer.Cosine, 0.05, 0, update, updates)
		loss, err := trainer.Update(train, batch, rate)
		check(err)
		if (update+1)%50 > 0 {
			continue
		}
		score, err := model.Score(ctx, e, validation)
		check(err)
		fmt.Printf("update %d: loss %.3f, validation accuracy %.1f%%\n", update+1, loss, 100*score.Accuracy)
		if since++; score.Accuracy > best {
			best, since = score.Accuracy, 0
		}
		if since == patience {
			break
		}
	}
	score, err := model.Score(ctx, e, data.Test)
	check(err)
	fmt.Printf("test accuracy %.1f%%\n", 100*score.Accuracy)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
