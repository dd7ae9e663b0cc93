// River as an engine of P13: connects to the database that is its first argument, and obeys one command a line, "fill N" or
// "drain N". Its answer to a drain is how many microseconds passed from the start of the client to the end of the last job.
// The second argument is how many workers it has, which is also how many jobs it claims at once. The other settings are those
// of River's own benchmark (`river bench`), which has 2000 workers.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

const batch = 1000

type jobArgs struct {
	Dataset string `json:"dataset"`
	Owner   int    `json:"owner"`
	Event   int    `json:"event"`
	Source  string `json:"source"`
	Note    string `json:"note"`
}

func (jobArgs) Kind() string { return "job" }

type worker struct {
	river.WorkerDefaults[jobArgs]
	done atomic.Int64
}

func (w *worker) Work(context.Context, *river.Job[jobArgs]) error {
	w.done.Add(1)
	return nil
}

func main() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Args[1])
	check(err)
	maxWorkers, err := strconv.Atoi(os.Args[2])
	check(err)
	driver := riverpgxv5.New(pool)
	migrator, err := rivermigrate.New(driver, nil)
	check(err)
	_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	check(err)
	fmt.Println("ready")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var command string
		var count int
		_, err := fmt.Sscan(lines.Text(), &command, &count)
		check(err)
		// A client runs once.
		w := &worker{}
		workers := river.NewWorkers()
		river.AddWorker(workers, w)
		client, err := river.NewClient(driver, &river.Config{
			FetchCooldown:     2 * time.Millisecond,
			FetchPollInterval: 20 * time.Millisecond,
			Logger:            slog.New(slog.DiscardHandler),
			Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: maxWorkers}},
			Workers:           workers,
		})
		check(err)
		if command == "fill" {
			_, err := pool.Exec(ctx, "delete from river_job")
			check(err)
			fill(ctx, client, count)
			fmt.Println("filled")
		} else {
			fmt.Println(drain(ctx, client, pool, w, count))
		}
	}
}

func fill[T any](ctx context.Context, client *river.Client[T], count int) {
	for n := 0; n < count; n += batch {
		var jobs []river.InsertManyParams
		for i := n; i < min(n+batch, count); i++ {
			note := "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
			args := jobArgs{Dataset: fmt.Sprintf("bench%d", i), Owner: 4242, Event: i, Source: "object-store", Note: note}
			jobs = append(jobs, river.InsertManyParams{Args: args})
		}
		_, err := client.InsertManyFast(ctx, jobs)
		check(err)
	}
}

func drain[T any](ctx context.Context, client *river.Client[T], pool *pgxpool.Pool, w *worker, count int) int64 {
	begun := time.Now()
	check(client.Start(ctx))
	for w.done.Load() < int64(count) {
		time.Sleep(time.Millisecond)
	}
	took := time.Since(begun).Microseconds()
	// Waits until all that ended is written.
	check(client.Stop(ctx))
	var left int
	check(pool.QueryRow(ctx, "select count(*) from river_job where state <> 'completed'").Scan(&left))
	if done := w.done.Load(); left > 0 || done != int64(count) {
		panic(fmt.Sprintf("%d jobs ran and %d are left, of %d", done, left, count))
	}
	return took
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
